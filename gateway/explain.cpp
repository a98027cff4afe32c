#include "gateway/explain.hpp"

#include <exception>
#include <utility>

#include "ledger/log_reader.hpp"
#include "ledger/pg/pool.hpp"
#include "ledger/record_history.hpp"
#include "ledger/spawn.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::gateway {
namespace {

namespace pg = ledger::pg;

/// A question that fits the model.
struct Prepared {
  Prepared(ExplainQuestion asked, std::string hash, projection::Explainer made)
      : question(std::move(asked)), model_hash(std::move(hash)), explainer(std::move(made)) {}

  ExplainQuestion question;
  std::string model_hash;  // of what judges
  projection::Explainer explainer;
  std::string key;
};

std::string_view code_of(projection::errc code) {
  return code == projection::errc::invalid_claims ? "invalid_claims" : "invalid_params";
}

ExplainRefusal unavailable(const ledger::Error& error) { return {"unavailable", error.detail}; }

std::variant<std::shared_ptr<Prepared>, ExplainRefusal> prepared(const ActiveModel& active, ExplainQuestion question) {
  const std::string& name = question.view;
  const auto view = active.model ? active.model->view(name) : nullptr;
  if (!view && active.left_out.contains(name)) {
    return ExplainRefusal{"unavailable", "the view " + name + " does not fit its table any more"};
  }
  if (!view) return ExplainRefusal{"unknown_view", "the model in force has no view " + name};
  if (const auto broken = active.broken.find(view->table->collection); broken != active.broken.end()) {
    return ExplainRefusal{"unavailable", "what happened to the table is not known: " + broken->second};
  }
  auto explainer = projection::Explainer::make(view, question.parameters, question.claims, question.space);
  if (!explainer) return ExplainRefusal{code_of(explainer.error().code), explainer.error().detail};
  auto out = std::make_shared<Prepared>(std::move(question), active.hash, std::move(*explainer));
  if (auto wrong = projection::append_key(out->key, *view->table, out->question.record)) {
    return ExplainRefusal{"invalid_record", std::move(*wrong)};
  }
  return out;
}

projection::StoryBounds bounds_of(const Prepared& asked) {
  projection::StoryBounds out;
  out.events_max = ExplainQuestion::events_max;
  out.bytes_max = ExplainQuestion::events_bytes_max;
  // But for the mark of what is older than the model, which is not known before the end.
  out.bytes_of = [](const projection::StoryEvent& event) { return explain_event_json(event, {}).size(); };
  out.before = asked.question.before;
  return out;
}

pg::ConnectOptions connect_options(const std::string& conninfo, std::chrono::milliseconds time_max) {
  pg::ConnectOptions out = pg::connect_options(conninfo, "viewgate explain", time_max);
  out.statement_timeout = time_max;
  return out;
}

ledger::ReaderOptions reader_options(std::chrono::milliseconds time_max) {
  ledger::ReaderOptions out;
  out.connections_max = ExplainDesk::concurrent;
  out.time_max = time_max;
  return out;
}

}  // namespace

/// What the coroutines share; outlives the desk until the last of them has ended.
class ExplainDesk::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(boost::asio::io_context& io, const std::string& conninfo, std::chrono::milliseconds time_max)
      : time_max_(time_max),
        executor_(io.get_executor()),
        reader_(io, conninfo, reader_options(time_max)),
        pool_(executor_, connect_options(conninfo, time_max), concurrent) {}

  void start(ActiveModelPtr model, ExplainQuestion question, std::function<void(ExplainResult)> done) {
    ledger::spawn(executor_, run(shared_from_this(), std::move(model), std::move(question), std::move(done)));
  }

  void stop() {
    is_stopped_ = true;
    reader_.stop();
    pool_.close();
  }

 private:
  /// What is stored now, and at which sequence.
  struct Now {
    ledger::Position position;
    std::optional<std::string> record;
  };
  using Done = std::function<void(ExplainResult)>;

  static boost::asio::awaitable<void> run(std::shared_ptr<Work> self, ActiveModelPtr model, ExplainQuestion question,
                                          Done done) {
    std::optional<ExplainResult> early;
    try {
      early = co_await self->begin(std::move(model), std::move(question), done);
    } catch (const ledger::Failure& failure) {
      early = unavailable(failure.error());
    } catch (const std::exception& error) {
      early = ExplainRefusal{"unavailable", error.what()};
    }
    if (early && !self->is_stopped_) done(std::move(*early));
  }

  /// The answer where there is nothing more to be read; else whoever reads on tells it to `done`.
  boost::asio::awaitable<std::optional<ExplainResult>> begin(ActiveModelPtr model, ExplainQuestion question,
                                                             Done done) {
    auto ready = prepared(*model, std::move(question));
    if (auto* refusal = std::get_if<ExplainRefusal>(&ready)) co_return std::move(*refusal);
    const auto& asked = std::get<std::shared_ptr<Prepared>>(ready);
    const auto known = co_await is_known(asked->question.space);
    if (!known) co_return unavailable(known.error());
    if (*known) {
      snapshot(asked, std::move(done));
      co_return std::nullopt;
    }
    // The ledger knows nothing of the space, and a question must not make it known; a captured table may have rows of it.
    auto found = co_await look(asked);
    if (!found) co_return unavailable(found.error());
    if (!*found) {
      ExplainRefusal refusal;
      refusal.code = "unknown_space";
      refusal.text = "the ledger has no space " + asked->question.space + ", since nothing was committed there, and " +
                     asked->explainer.group()->table().collection + " has no record " + asked->key + " in it now";
      co_return std::move(refusal);
    }
    Now now;
    now.record = std::move(*found);
    ledger::spawn(executor_, tell(shared_from_this(), asked, std::move(now), std::move(done)));
    co_return std::nullopt;
  }

  /// Has commits, or will have.
  pg::Task<bool> is_known(std::string space) {
    auto lease = co_await pool_.acquire(time_max_);
    if (!lease) co_return lease.error();
    std::string sql =
        "select exists (select from viewgate.horizons h where h.space = viewgate.space_key($1)) or exists (select from "
        "viewgate.waiting w where w.space = viewgate.space_key($1))";
    pg::Params params(1, std::move(space));
    auto rows = co_await (*lease)->exec(std::move(sql), std::move(params), time_max_);
    if (!rows) co_return rows.error();
    co_return (*rows)[0].boolean(0);
  }

  pg::Task<std::optional<std::string>> look(std::shared_ptr<Prepared> asked) {
    auto lease = co_await pool_.acquire(time_max_);
    if (!lease) co_return lease.error();
    std::string sql = projection::record_query(*asked->explainer.group(), asked->key);
    auto rows = co_await (*lease)->exec(std::move(sql), pg::Params(), time_max_);
    if (!rows) co_return rows.error();
    std::optional<std::string> out;
    if (!rows->empty()) out = (*rows)[0].string(0);
    co_return out;
  }

  void snapshot(const std::shared_ptr<Prepared>& asked, Done done) {
    const auto& group = *asked->explainer.group();
    ledger::SnapshotQuery query;
    query.space = asked->question.space;
    if (const auto relation = projection::read_plan(group).relation; !relation.empty()) query.tables = {relation};
    query.sql = projection::record_query(group, asked->key);
    const auto now = std::make_shared<Now>();
    const auto on_row = [now](std::string_view row) {
      now->record = std::string(row);
      return true;
    };
    reader_.snapshot(
        std::move(query), time_max_, on_row,
        [self = shared_from_this(), asked, now, done = std::move(done)](ledger::Result<ledger::Position> at) {
          if (!at) return done(unavailable(at.error()));
          now->position = *at;
          ledger::spawn(self->executor_, tell(self, asked, std::move(*now), done));
        });
  }

  static boost::asio::awaitable<void> tell(std::shared_ptr<Work> self, std::shared_ptr<Prepared> asked, Now now,
                                           Done done) {
    std::optional<ExplainResult> result;
    try {
      auto answer = co_await self->answer(std::move(asked), std::move(now));
      if (answer) result = std::move(*answer);
      if (!answer) result = unavailable(answer.error());
    } catch (const ledger::Failure& failure) {
      result = unavailable(failure.error());
    } catch (const std::exception& error) {
      result = ExplainRefusal{"unavailable", error.what()};
    }
    if (!self->is_stopped_) done(std::move(*result));
  }

  pg::Task<ExplainResult> answer(std::shared_ptr<Prepared> asked, Now now) {
    const projection::Explainer& explainer = asked->explainer;
    const projection::Group& group = *explainer.group();
    ExplainAnswer out;
    if (now.record) {
      auto judgement = explainer.judge(*now.record);
      if (!judgement) co_return damaged(judgement.error());
      out.inside = judgement->inside;
      out.verdicts = std::move(judgement->verdicts);
      // A key that is equal may look different: the log has it as the record prints it.
      const auto record = projection::Record::parse(group.table().layout, *now.record);
      asked->key = group.key_of(*record);
    }
    projection::RecordStory story(explainer, bounds_of(*asked));
    auto reach = co_await history(asked, now.position.sequence, story);
    if (!reach) co_return reach.error();
    if (reach->model.hash != asked->model_hash) {
      ExplainRefusal refusal;
      refusal.code = "unavailable";
      refusal.text = "another model has just been put in force; ask again";
      co_return ExplainResult(std::move(refusal));
    }
    if (!now.record && !story.has_commits()) co_return unknown_record(*asked, *reach);
    story.end(now.position.sequence, out.inside);
    out.model = std::move(reach->model);
    out.version = group.view()->version.hex();
    out.collection = group.table().collection;
    out.key = asked->key;
    out.sequence = now.position.sequence;
    out.exists = now.record.has_value();
    out.admitted = explainer.admitted();
    out.admission = explainer.admission();
    out.retained_from = reach->retained_from;
    out.began_inside = story.has_commits() ? story.began_inside() : std::optional(out.inside);
    out.left_out = story.left_out();
    out.events = story.events();
    out.question = asked->question;
    co_return ExplainResult(std::move(out));
  }

  pg::Task<ledger::LogReach> history(std::shared_ptr<Prepared> asked, ledger::Sequence through,
                                     projection::RecordStory& story) {
    auto lease = co_await pool_.acquire(time_max_);
    if (!lease) co_return lease.error();
    ledger::RecordQuestion question;
    question.space = asked->question.space;
    question.collection = asked->explainer.group()->table().collection;
    question.key = asked->key;
    question.through = through;
    std::optional<ledger::Error> fault;
    std::function<bool(ledger::CommitPartPtr)> take = [&](const ledger::CommitPartPtr& commit) {
      const auto taken = story.take(*commit);
      if (!taken) fault = damaged(taken.error());
      return !fault && !is_stopped_;
    };
    auto reach = co_await ledger::read_record_history(**lease, std::move(question), std::move(take), time_max_);
    if (fault) co_return *fault;
    co_return reach;
  }

  static ledger::Error damaged(const projection::Error& error) {
    return ledger::Error{ledger::errc::log_corrupt, "", error.detail};
  }

  static ExplainResult unknown_record(const Prepared& asked, const ledger::LogReach& reach) {
    const std::string where = asked.explainer.group()->table().collection + " of space " + asked.question.space;
    return ExplainRefusal{"unknown_record", "there is no record " + asked.key + " in " + where +
                                                ", and no commit from " + std::to_string(reach.retained_from.value) +
                                                " on, where the log begins, has one"};
  }

  const std::chrono::milliseconds time_max_;
  boost::asio::any_io_executor executor_;
  ledger::Reader reader_;
  pg::Pool pool_;
  bool is_stopped_ = false;
};

ExplainDesk::ExplainDesk(boost::asio::io_context& io, const std::string& conninfo, std::chrono::milliseconds time_max)
    : work_(std::make_shared<Work>(io, conninfo, time_max)) {}

ExplainDesk::~ExplainDesk() { work_->stop(); }

void ExplainDesk::ask(ActiveModelPtr model, ExplainQuestion question, std::function<void(ExplainResult)> done) {
  work_->start(std::move(model), std::move(question), std::move(done));
}

}  // namespace viewgate::gateway
