#include "projection/oracle.hpp"

#include <algorithm>
#include <stdexcept>

#include "projection/explain.hpp"
#include "projection/fixture.hpp"
#include "projection/group_index.hpp"
#include "projection/json_text.hpp"
#include "projection/pushdown.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

// Errors are rare, so a question is put to all rows at once, and row by row only where that raises. The row comes from a
// table, so that its columns are not constants to the planner.
constexpr const char* functions = R"(
create function public.ask_one(question text, wanted int4) returns text language plpgsql as $$
declare told text; begin
  execute 'select coalesce((' || question || ')::text, ''null'') from public.sample t where t.id = $1' into told using wanted;
  return told;
exception when others then return 'error ' || sqlstate || ' ' || sqlerrm; end $$;
create function public.ask(questions text[]) returns setof text[] language plpgsql as $$
declare question text; told text[]; begin
  foreach question in array questions loop
    begin
      execute 'select array_agg(coalesce((' || question || ')::text, ''null'') order by t.id) from public.sample t' into told;
    exception when others then
      told := array(select public.ask_one(question, s.id) from public.sample s order by s.id);
    end;
    return next told;
  end loop;
end $$;
create function public.narrow(queries text[]) returns setof text[] language plpgsql as $$
declare query text; told text[]; begin
  foreach query in array queries loop
    begin
      execute 'select coalesce(array_agg(r.text::jsonb ->> ''id''), ''{}'') from (' || query || ') as r(text)' into told;
    exception when others then told := array['error ' || sqlstate || ' ' || sqlerrm]; end;
    return next told;
  end loop;
end $$)";

Catalog catalog_of_sample(PgSession& session) {
  CatalogTable table;
  table.schema = "public";
  table.name = "sample";
  table.primary_key = {"id"};
  for (const PgRow& row : session.run(
           "select a.attname, case when t.typnamespace = 'pg_catalog'::regnamespace then t.typname::text else "
           "format_type(t.oid, null) end, (select json_agg(e.enumlabel order by e.enumsortorder)::text from pg_enum e "
           "where e.enumtypid = t.oid) from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = "
           "'public.sample'::regclass and a.attnum > 0 order by a.attnum")) {
    CatalogColumn column{*row[0], *row[1]};
    if (row[2]) {
      const Json labels = parse_json(*row[2]).value();
      for (const Json& label : labels.items) column.labels.push_back(label.text);
    }
    table.columns.push_back(std::move(column));
  }
  return Catalog{{table}};
}

std::string text_array(const std::vector<std::string>& texts) {
  std::string out = "{";
  for (const std::string& text : texts) {
    out += out.size() > 1 ? ",\"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

bool is_error(const std::string& answer) { return answer.starts_with("error"); }

std::string shown(const Question& question) {
  return "\nmodel: " + question.model + "\nparams: " + question.params + " claims: " + question.claims +
         "\nin PostgreSQL: " + question.sql;
}

}  // namespace

Oracle::Oracle() : session_(PostgresCluster::shared().create_empty_database()) {
  session_.run(
      "set timezone = 'UTC'; set extra_float_digits = 1; set client_min_messages = error; set jit = off; "
      "set search_path = ''");
  session_.run(std::string(sample_enum) + "; create table public.sample (" + sample_columns + ")");
  session_.run(functions);
  catalog_ = catalog_of_sample(session_);
}

void Oracle::fill(const std::vector<std::string>& rows) {
  std::string values;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    values += (values.empty() ? "(" : ", (") + std::to_string(i + 1) + ", " + rows[i] + ")";
  }
  session_.run("truncate public.sample; insert into public.sample values " + values);
  texts_.clear();
  for (const PgRow& row : session_.run("select to_jsonb(t.*)::text from public.sample t order by t.id"))
    texts_.push_back(*row[0]);
}

std::vector<std::vector<std::string>> Oracle::arrays_of(const std::string& function,
                                                        const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> out;
  for (const PgRow& row :
       session_.query("select to_json(a)::text from public." + function + "($1::text[]) a", {text_array(texts)})) {
    std::vector<std::string>& answers = out.emplace_back();
    const Json array = parse_json(*row[0]).value();
    for (const Json& answer : array.items) answers.push_back(answer.text);
  }
  return out;
}

void Oracle::ask_ours(const Question& question, Answers& answers) {
  const bool condition = question.type == "bool";
  const std::string select =
      condition ? "id from sample where " + question.model : "id, " + question.model + " as x from sample";
  ParsedModel parsed =
      parse_model("create table sample (like public.sample) with (space = 'space');\ncreate view v as select " +
                      select + ";\ncreate policy p on v using (true);",
                  catalog_);
  if (!parsed.model) {
    answers.refused = parsed.problems.front().message;
    return;
  }
  // A value that its context makes one of a narrower type, as PostgreSQL would refuse the literal.
  const auto bound = projection::bind(*parsed.model, "v", question.params, question.claims, "s1");
  if (!bound) {
    answers.refused = bound.error().detail;
    return;
  }
  const GroupPtr group = bound->group;
  const Expression predicate = group->predicate();
  GroupIndex index;
  index.add(group);
  const CollectionIndex& collection = index.find("s1", "public.sample")->front();
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto record = Record::parse(group->table().layout, texts_[i]);
    if (!record) throw std::runtime_error("not a record: " + texts_[i]);
    if (condition) {
      const Truth truth = evaluate_truth(predicate, *record);
      answers.ours.emplace_back(name(truth));
      const bool inside = group->includes(*record);
      std::vector<const GroupPtr*> candidates;
      collection.candidates(nullptr, &*record, candidates);
      if (inside != (truth == Truth::yes))
        answers.torn = "the group decides otherwise than its predicate" + shown(question);
      if (inside && candidates.empty()) answers.torn = "the index passes over the group" + shown(question);
      if (inside) answers.rows.push_back(std::to_string(i + 1));
      continue;
    }
    const SelectedColumn& selected = group->view()->columns.back();
    if (selected.column) {
      answers.ours.emplace_back(record->slice(*selected.column));
      continue;
    }
    const Value value = evaluate(selected.expression, *record);
    answers.ours.push_back(is_fault(value) ? "error" : print_json(selected.expression.type, value));
  }
  if (condition) answers.narrowed = read_plan(*group).query();
}

std::vector<Answers> Oracle::ask(const std::vector<Question>& questions) {
  std::vector<Answers> out(questions.size());
  std::vector<std::string> texts;
  std::vector<std::string> queries;
  std::vector<std::size_t> narrowed;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    ask_ours(questions[i], out[i]);
    texts.push_back(questions[i].type == "bool" ? questions[i].sql : "to_jsonb(" + questions[i].sql + ")");
    if (out[i].narrowed.empty()) continue;
    queries.push_back(out[i].narrowed);
    narrowed.push_back(i);
  }
  auto theirs = arrays_of("ask", texts);
  for (std::size_t i = 0; i < theirs.size(); ++i) out[i].theirs = std::move(theirs[i]);
  auto read = arrays_of("narrow", queries);
  for (std::size_t i = 0; i < read.size(); ++i) out[narrowed[i]].read = std::move(read[i]);
  return out;
}

std::string Oracle::difference(const Question& question, const Answers& answers, std::size_t place) {
  const std::string& theirs = answers.theirs[place];
  const std::string& ours = answers.ours[place];
  const bool error = is_error(theirs);
  // What does not even parse there means that we take what PostgreSQL refuses; internal errors are its own.
  if (error && !theirs.starts_with("error 22") && !theirs.starts_with("error 0A") && !theirs.starts_with("error 54"))
    return "PostgreSQL refuses the question itself: " + theirs + shown(question);
  // Ours may decide without an operand that PostgreSQL fails on; and PostgreSQL may leave out an operand that is an
  // error here, which makes the record outside.
  if (!question.strict && (error || is_error(ours))) return {};
  if (ours == (error ? "error" : theirs)) return {};
  return "ours: " + ours + "\ntheirs: " + theirs + shown(question);
}

std::string Oracle::missing(const Answers& answers) {
  if (!answers.torn.empty()) return answers.torn;
  if (!answers.read.empty() && is_error(answers.read.front())) {
    return "the pushed-down query raises: " + answers.read.front() + "\n" + answers.narrowed;
  }
  for (const std::string& key : answers.rows) {
    if (std::find(answers.read.begin(), answers.read.end(), key) == answers.read.end())
      return "record " + key + " is not in " + answers.narrowed;
  }
  return {};
}

std::string print_find(const Find& find) {
  const Question& question = find.question;
  std::string out = "{\n";
  const auto add = [&out](const char* name, const std::string& value, const char* end) {
    out += std::string("  \"") + name + "\": " + encode_json_string(value) + end;
  };
  add("type", question.type, ",\n");
  add("model", question.model, ",\n");
  add("sql", question.sql, ",\n");
  add("params", question.params, ",\n");
  add("claims", question.claims, ",\n");
  add("strict", question.strict ? "yes" : "no", ",\n");
  add("row", find.row, "\n}\n");
  return out;
}

Find read_find(const std::string& text) {
  const Json json = parse_json(text).value();
  const auto member = [&json](const char* name) { return json.find(name)->text; };
  return {
      {member("type"), member("model"), member("sql"), member("params"), member("claims"), member("strict") == "yes"},
      member("row")};
}

}  // namespace viewgate::testing
