#include "gateway/admin_inspect.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <charconv>
#include <map>
#include <thread>
#include <unordered_map>

#include "gateway/inspect_asked.hpp"
#include "gateway/inspect_overview.hpp"
#include "gateway/inspect_page.hpp"
#include "gateway/inspect_rows.hpp"
#include "gateway/inspect_walk.hpp"
#include "gateway/log_line.hpp"
#include "ledger/inspection.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds overview_age_max{1000};

std::string item(const PageQuestion& question, std::string_view name) {
  for (const auto& [each, value] : question.others) {
    if (each == name) return value;
  }
  return {};
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// Rows are texts of JSON objects.
using Page = PageOf<std::string>;

std::string page_json(std::string_view name, const Page& page) {
  JsonObject out;
  out.json(name, json_array(page.rows(), [](const std::string* row) { return *row; }));
  out.number("matched", page.matched());
  if (const auto next = page.next()) out.text("next", place_text(*next));
  return out.str();
}

std::string json_of(const ledger::ChangeSeen& change) {
  return JsonObject()
      .text("kind", name_of(change.kind))
      .text("collection", change.collection)
      .json("key", change.key)
      .str();
}

std::string json_of(const ledger::CommitSeen& commit) {
  JsonObject out;
  out.text("sequence", std::to_string(commit.sequence.value))
      .text("at", commit.provenance.at)
      .text("source", commit.provenance.source)
      .text("role", commit.provenance.role)
      .text_if_any("principal", commit.provenance.principal)
      .text_if_any("client", commit.provenance.client)
      .text_if_any("request_id", commit.provenance.request_id)
      .number("changes", commit.changes)
      .json("first", json_array(commit.first, [](const auto& each) { return json_of(each); }));
  return out.str();
}

struct ViewKey {
  std::string name;
  std::string version;
  friend auto operator<=>(const ViewKey&, const ViewKey&) = default;
};
using Views = std::map<projection::ViewPtr, ViewUse>;

}  // namespace

class AdminInspect::Desk {
 public:
  explicit Desk(InspectSources sources)
      : sources_(std::move(sources)),
        started_(std::chrono::steady_clock::now()),
        work_(asio::make_work_guard(io_)),
        database_(io_, sources_.conninfo, sources_.time_max),
        thread_([this] { io_.run(); }) {}
  ~Desk() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    io_.stop();
    thread_.join();
  }

  void add_to(AdminDoor& door) {
    add(door, "overview", {}, &Desk::overview);
    add(door, "nodes", {}, &Desk::nodes);
    add(door, "spaces", {{"-lag_seconds", "lag_commits", "head", "groups", "recent_bytes", "space"}, {}},
        &Desk::spaces);
    add(door, "views", {}, &Desk::views);
    add(door, "groups", {{"-subscribers", "documents", "document_bytes", "ring_bytes", "view", "space"}, {"view"}},
        &Desk::groups);
    add(door, "connections", {{"age", "queue_bytes", "subscriptions", "behind", "principal", "address"}, {"behind"}},
        &Desk::connections);
    add(door, "connection", {{}, {"id"}}, &Desk::connection);
    add(door, "commits", {{}, {"space", "after", "limit"}}, &Desk::commits);
  }

 private:
  using Answer = void (Desk::*)(const AskedPtr&, const PageQuestion&);

  void add(AdminDoor& door, std::string_view name, PageForm form, Answer answer) {
    const std::string path = "/v1/inspect/" + std::string(name);
    door.add("GET", path, [this, form = std::move(form), answer](const HttpRequest& request, auto reply) {
      auto parsed = parse_page(request.head.target, form);
      if (const auto* wrong = std::get_if<std::string>(&parsed)) {
        return answer_with(*reply, inspect_refusal(400, "bad_request", *wrong));
      }
      asio::post(io_, [this, answer, question = std::get<PageQuestion>(std::move(parsed)), reply = std::move(reply)] {
        begin(question, reply, answer);
      });
    });
  }

  void begin(const PageQuestion& question, const std::shared_ptr<HttpReply>& reply, Answer answer) {
    if (asked_ == asked_max) {
      return answer_with(*reply, inspect_refusal(503, "unavailable", "too many questions at a time"));
    }
    ++asked_;
    const auto asked = std::make_shared<Asked>(io_, reply, [this] { --asked_; });
    asked->start(sources_.time_max);
    (this->*answer)(asked, question);
  }

  // One function for each path. All but `done`s of walks are on this thread.

  void overview(const AskedPtr& asked, const PageQuestion&);
  void sum_up(Reactor& reactor, const AskedPtr& asked, const std::shared_ptr<Overview>& all);
  void nodes(const AskedPtr& asked, const PageQuestion&);
  void spaces(const AskedPtr& asked, const PageQuestion& question);
  void views(const AskedPtr& asked, const PageQuestion&);
  void groups(const AskedPtr& asked, const PageQuestion& question);
  void connections(const AskedPtr& asked, const PageQuestion& question);
  void connection(const AskedPtr& asked, const PageQuestion& question);
  void commits(const AskedPtr& asked, const PageQuestion& question);

  const InspectSources sources_;
  const std::chrono::steady_clock::time_point started_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  ledger::Inspection database_;
  std::size_t asked_ = 0;
  std::string overview_;  // the last one, for all who ask within a second
  std::chrono::steady_clock::time_point overview_at_;
  std::thread thread_;
};

void AdminInspect::Desk::overview(const AskedPtr& asked, const PageQuestion&) {
  if (!overview_.empty() && std::chrono::steady_clock::now() - overview_at_ < overview_age_max) {
    return asked->answer(overview_);
  }
  const auto all = std::make_shared<Overview>();
  asked->await(sources_.reactors.size() + 1, [this, all](const AskedPtr& back) {
    overview_at_ = std::chrono::steady_clock::now();
    all->uptime = std::chrono::duration_cast<std::chrono::seconds>(overview_at_ - started_);
    overview_ = overview_json(sources_.node, sources_.version, std::move(*all));
    back->answer(overview_);
  });
  asio::post(sources_.engine_io,
             [this, asked, all] { asked->arrive([all, reading = sources_.read_engine()] { all->engine = reading; }); });
  for (const auto& reactor : sources_.reactors) sum_up(*reactor, asked, all);
}

void AdminInspect::Desk::sum_up(Reactor& reactor, const AskedPtr& asked, const std::shared_ptr<Overview>& all) {
  const auto sum = std::make_shared<ReactorSum>();
  const auto steps = std::make_shared<ConnectionWalk>();
  walk(reactor, [asked, all, sum, steps](const ReactorSight& sight) {
    const Now now = Now::read();
    const auto see = [&](const Connection& connection) {
      const ConnectionSight seen(sight.index(), connection, now);
      sum->streams.add(seen.streams());
      sum->queue_bytes += seen.queue_bytes();
      if (seen.is_blocked()) ++sum->blocked;
      return true;
    };
    const Steps progress = steps->some(sight, see);
    if (progress != Steps::done) return progress;
    sum->index = sight.index();
    sum->connections = sight.connections();
    sum->sessions = sight.views().sessions();
    sum->groups = sight.views().groups();
    sum->ring_bytes = sight.views().ring_bytes();
    asked->arrive([all, sum] { all->reactors.push_back(*sum); });
    return progress;
  });
}

void AdminInspect::Desk::nodes(const AskedPtr& asked, const PageQuestion&) {
  database_.nodes([this, asked](const ledger::Result<std::vector<ledger::NodeSeen>>& found) {
    if (!found) return asked->refuse(503, "unavailable", "the database does not answer");
    // The name may have been cut on its way.
    const std::string own = ledger::tail_name(sources_.node);
    asked->answer(JsonObject()
                      .json("nodes", json_array(*found,
                                                [&](const ledger::NodeSeen& each) {
                                                  return JsonObject()
                                                      .text("node", each.node)
                                                      .text("address", each.address)
                                                      .text("since", each.since)
                                                      .boolean("this", ledger::tail_name(each.node) == own)
                                                      .str();
                                                }))
                      .str());
  });
}

void AdminInspect::Desk::spaces(const AskedPtr& asked, const PageQuestion& question) {
  const auto page = std::make_shared<Page>(question);
  const auto after = std::make_shared<std::optional<std::string>>();
  asked->await(1, [page](const AskedPtr& back) { back->answer(page_json("spaces", *page)); });
  walk(sources_.engine_io, sources_.engine, [this, asked, page, after](const Engine& engine) {
    *after = engine.see_spaces(*after, walk_piece, [&](const Engine::SpaceSight& space) {
      if (!is_found_in(space.name, page->question().search)) return;
      const auto lag = sources_.tailer.lag(space.name);
      auto place = place_of(space, lag, page->question().sort);
      if (page->takes(place)) page->add(std::move(place), json_of(space, lag));
    });
    if (*after) return Steps::more;
    asked->arrive([] {});
    return Steps::done;
  });
}

void AdminInspect::Desk::views(const AskedPtr& asked, const PageQuestion&) {
  struct Row {
    projection::ViewPtr view;
    ViewUse use;
  };
  const auto rows = std::make_shared<std::map<ViewKey, Row>>();
  const auto take = [rows](const Views& views) {
    for (const auto& [view, use] : views) {
      Row& row = (*rows)[{view->name, view->version.hex()}];
      row.view = view;
      row.use.groups += use.groups;
      row.use.documents += use.documents;
      row.use.document_bytes += use.document_bytes;
      row.use.evaluation_errors += use.evaluation_errors;
      row.use.on_reactors.add(use.on_reactors);
    }
  };
  asked->await(sources_.reactors.size() + 1, [rows](const AskedPtr& back) {
    const auto json = [](const auto& each) { return json_of(*each.second.view, each.second.use); };
    back->answer(JsonObject().json("views", json_array(*rows, json)).str());
  });
  walk(sources_.engine_io, sources_.engine,
       [asked, take, found = std::make_shared<Views>(), steps = TableWalk()](const Engine& engine) mutable {
         const Steps progress = engine.see_groups(steps, walk_piece, [&](const Engine::GroupSight& group) {
           ViewUse& use = (*found)[group.spec.group->view()];
           ++use.groups;
           use.documents += group.documents;
           use.document_bytes += group.document_bytes;
           use.evaluation_errors += group.spec.group->evaluation_errors();
         });
         if (progress == Steps::anew) found->clear();
         if (progress == Steps::done) asked->arrive([take, found] { take(*found); });
         return progress;
       });
  for (const auto& reactor : sources_.reactors) {
    walk(*reactor, [asked, take, found = std::make_shared<Views>(), steps = TableWalk()](const auto& sight) mutable {
      const Steps progress = walk_some(sight.views().local_groups(), steps, walk_piece, [&](const auto& entry) {
        (*found)[entry.second->spec->group->view()].on_reactors.add(use_of(*entry.second));
      });
      if (progress == Steps::anew) found->clear();
      if (progress == Steps::done) asked->arrive([take, found] { take(*found); });
      return progress;
    });
  }
}

/// First what the reactors have of each group, then the engine, which knows all groups: so one order holds for all of it.
void AdminInspect::Desk::groups(const AskedPtr& asked, const PageQuestion& question) {
  using Uses = std::unordered_map<GroupId, GroupUse, GroupIdHash>;
  const auto uses = std::make_shared<Uses>();
  asked->await(sources_.reactors.size(), [this, uses, question](const AskedPtr& back) {
    const auto page = std::make_shared<Page>(question);
    back->await(1, [page](const AskedPtr& last) { last->answer(page_json("groups", *page)); });
    walk(sources_.engine_io, sources_.engine,
         [back, uses, page, view = item(question, "view"), steps = TableWalk()](const Engine& engine) mutable {
           const Steps progress = engine.see_groups(steps, walk_piece, [&](const Engine::GroupSight& group) {
             if (!view.empty() && group.spec.group->view()->name != view) return;
             if (!matches(group, page->question().search)) return;
             const auto found = uses->find(group.spec.id);
             const GroupUse use = found == uses->end() ? GroupUse{} : found->second;
             auto place = place_of(group, use, page->question().sort);
             if (page->takes(place)) page->add(std::move(place), json_of(group, use));
           });
           if (progress == Steps::anew) page->clear();
           if (progress == Steps::done) back->arrive([] {});
           return progress;
         });
  });
  for (const auto& reactor : sources_.reactors) {
    walk(*reactor, [asked, uses, found = std::make_shared<Uses>(), steps = TableWalk()](const auto& sight) mutable {
      const Steps progress = walk_some(sight.views().local_groups(), steps, walk_piece, [&](const auto& entry) {
        found->insert_or_assign(entry.first, use_of(*entry.second));
      });
      if (progress == Steps::done) {
        asked->arrive([uses, found] {
          for (const auto& [id, use] : *found) (*uses)[id].add(use);
        });
      }
      return progress;
    });
  }
}

void AdminInspect::Desk::connections(const AskedPtr& asked, const PageQuestion& question) {
  const std::string behind = item(question, "behind");
  if (!behind.empty() && behind != "only") return asked->refuse(400, "bad_request", "behind: may be only");
  const auto page = std::make_shared<Page>(question);
  asked->await(sources_.reactors.size(),
               [page](const AskedPtr& back) { back->answer(page_json("connections", *page)); });
  for (const auto& reactor : sources_.reactors) {
    const auto part = std::make_shared<Page>(question);
    walk(*reactor, [asked, page, part, behind, steps = ConnectionWalk()](const ReactorSight& sight) mutable {
      const Now now = Now::read();
      const Steps progress = steps.some(sight, [&](const Connection& connection) {
        const ConnectionSight seen(sight.index(), connection, now);
        if (!behind.empty() && seen.streams().behind == 0) return true;
        if (!seen.matches(part->question().search)) return true;
        auto place = seen.place(part->question().sort);
        if (part->takes(place)) part->add(std::move(place), seen.json());
        return true;
      });
      if (progress == Steps::done) asked->arrive([page, part] { page->merge(std::move(*part)); });
      return progress;
    });
  }
}

void AdminInspect::Desk::connection(const AskedPtr& asked, const PageQuestion& question) {
  const std::string id = item(question, "id");
  const auto dash = id.find('-');
  const auto reactor = number_in<std::size_t>(std::string_view(id).substr(0, dash));
  const auto number = number_in<std::uint64_t>(dash == std::string::npos ? "" : std::string_view(id).substr(dash + 1));
  if (!reactor || !number) return asked->refuse(400, "bad_request", "id: must be that of a connection, as 0-17");
  if (*reactor >= sources_.reactors.size()) return asked->refuse(404, "not_found", "there is no connection " + id);
  const auto found = std::make_shared<std::string>();
  asked->await(1, [found, id](const AskedPtr& back) {
    if (found->empty()) return back->refuse(404, "not_found", "there is no connection " + id + " any more");
    back->answer(*found);
  });
  walk(*sources_.reactors[*reactor],
       [asked, found, number, steps = ConnectionWalk()](const ReactorSight& sight) mutable {
         const Steps progress = steps.some(sight, [&](const Connection& connection) {
           if (connection.number != *number) return true;
           *found = ConnectionSight(sight.index(), connection, Now::read()).whole_json();
           return false;
         });
         if (progress == Steps::done) asked->arrive([] {});
         return progress;
       });
}

void AdminInspect::Desk::commits(const AskedPtr& asked, const PageQuestion& question) {
  const std::string space = item(question, "space");
  const std::string after_text = item(question, "after");
  const std::string limit_text = item(question, "limit");
  const auto after = number_in<std::int64_t>(after_text.empty() ? "-1" : after_text);
  const auto limit = number_in<std::int64_t>(limit_text.empty() ? "50" : limit_text);
  if (space.empty()) return asked->refuse(400, "bad_request", "space: must be there");
  if (!after || (!after_text.empty() && *after < 0)) {
    return asked->refuse(400, "bad_request", "after: must be the number of a commit; without it come the newest ones");
  }
  if (!limit || *limit < 1 || *limit > ledger::CommitsSeen::commits_max) {
    return asked->refuse(400, "bad_request",
                         "limit: must be a number from 1 to " + std::to_string(ledger::CommitsSeen::commits_max));
  }
  database_.commits(space, *after, *limit, [asked, space](const ledger::Result<ledger::CommitsSeen>& found) {
    if (!found) return asked->refuse(503, "unavailable", "the database does not answer");
    asked->answer(JsonObject()
                      .text("space", space)
                      .text("head", std::to_string(found->head.value))
                      .text("retained_from", std::to_string(found->retained_from.value))
                      .json("commits", json_array(found->commits, [](const auto& each) { return json_of(each); }))
                      .str());
  });
}

AdminInspect::AdminInspect(InspectSources sources) : desk_(std::make_unique<Desk>(std::move(sources))) {}
AdminInspect::~AdminInspect() = default;
void AdminInspect::add_to(AdminDoor& door) { desk_->add_to(door); }
void AdminInspect::stop() { desk_->stop(); }

}  // namespace viewgate::gateway
