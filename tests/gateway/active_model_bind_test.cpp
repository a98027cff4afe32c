// Goal: I8. A cursor is worth something to the principal and subscription that it was made for, and to nobody else;
// what has changed since has its reason. Method: bindings and cursors without any server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/engine_world.hpp"
#include "gateway/errors.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::HasSubstr;

const char* const claims_model = R"(
create table accounts (id int4 primary key, owner text, balance int4);
create view mine as select id from accounts where owner = claims.sub and balance < params.below;
create policy members on mine using (space.name = any(claims.spaces));
)";

class ActiveModelBind : public ::testing::Test {
 protected:
  Bound bind(const auth::Principal& who, const Subscribe& what) {
    return std::get<Bound>(bind_subscription(*model, who, what));
  }
  SubscribeRefusal refusal(const auth::Principal& who, const Subscribe& what) {
    return std::get<SubscribeRefusal>(bind_subscription(*model, who, what));
  }
  std::string cursor_of(const Bound& owner, ledger::Position position = at(6)) {
    return join_cursor(owner.context_token, owner.spec->sealer.seal(position));
  }
  bool is_foreign(const Bound& asker, const std::string& cursor) {
    return std::holds_alternative<CursorInvalid>(check_cursor(*model, asker, cursor));
  }

  ActiveModelPtr model = active_model(claims_model);
  auth::Principal ann = principal("ann", R"({"sub":"ann","spaces":["s","t"]})");
  Subscribe subscribe = subscribe_to("mine", R"({"below":0})");
  Bound bound = bind(ann, subscribe);
};

TEST_F(ActiveModelBind, a_cursor_resumes_where_it_was_made) {
  const auto check = check_cursor(*model, bound, cursor_of(bound));
  EXPECT_EQ(std::get<Resume>(check).after, at(6));
}

TEST_F(ActiveModelBind, row_40_a_cursor_of_another_principal_space_view_or_parameters_is_invalid) {
  auto bob = ann;
  bob.subject = "bob";  // the same claims: the same group, and still not bob's cursor
  EXPECT_EQ(bind(bob, subscribe).spec->id, bound.spec->id);
  EXPECT_TRUE(is_foreign(bound, cursor_of(bind(bob, subscribe))));
  EXPECT_TRUE(is_foreign(bound, cursor_of(bind(ann, subscribe_to("mine", R"({"below":1})")))));
  EXPECT_TRUE(is_foreign(bound, cursor_of(bind(ann, subscribe_to("mine", R"({"below":0})", "t")))));
  auto elsewhere = ann;
  elsewhere.issuer = "another";
  EXPECT_TRUE(is_foreign(bound, cursor_of(bind(elsewhere, subscribe))));
}

TEST_F(ActiveModelBind, row_39_a_broken_cursor_is_invalid_wherever_it_is_broken) {
  const auto good = cursor_of(bound);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(is_foreign(bound, bad)) << "character " << i;
    EXPECT_TRUE(is_foreign(bound, good.substr(0, i))) << "cut at " << i;
  }
  EXPECT_TRUE(is_foreign(bound, good + "A"));
  EXPECT_TRUE(is_foreign(bound, std::string(1'000'000, 'A')));
}

TEST_F(ActiveModelBind, a_position_of_another_group_does_not_fit_this_context) {
  const auto other = bind(ann, subscribe_to("mine", R"({"below":1})"));
  EXPECT_TRUE(is_foreign(bound, join_cursor(bound.context_token, other.spec->sealer.seal(at(6)))));
}

TEST_F(ActiveModelBind, row_40_a_cursor_under_a_retired_key_is_invalid) {
  auto rotated = std::make_shared<ActiveModel>(*model);
  rotated->keys = std::make_shared<const CursorKeys>(CursorKeys({CursorKeys::Key{2, std::string(32, 'n')}}));
  const auto rebound = std::get<Bound>(bind_subscription(*rotated, ann, subscribe));
  EXPECT_TRUE(std::holds_alternative<CursorInvalid>(check_cursor(*rotated, rebound, cursor_of(bound))));
}

TEST_F(ActiveModelBind, row_41_parameters_that_mean_the_same_are_the_same_subscription) {
  const auto again = bind(ann, subscribe_to("mine", " { \"below\" : 0 } "));
  EXPECT_EQ(again.context, bound.context);
  EXPECT_EQ(std::get<Resume>(check_cursor(*model, again, cursor_of(bound))).after, at(6));
}

TEST_F(ActiveModelBind, another_view_version_is_told_as_such) {
  std::string text = claims_model;
  text.replace(text.find("select id "), 10, "select id, balance ");
  const auto changed = active_model(text);
  const auto rebound = std::get<Bound>(bind_subscription(*changed, ann, subscribe));
  EXPECT_EQ(std::get<ResetReason>(check_cursor(*changed, rebound, cursor_of(bound))), ResetReason::view_changed);
}

TEST_F(ActiveModelBind, other_claim_values_are_told_as_such_and_claims_that_are_not_used_do_not_matter) {
  auto later = ann;
  later.claims = R"({"sub":"ann","spaces":["s"],"exp":2})";
  const auto narrowed = bind(later, subscribe);
  EXPECT_EQ(std::get<ResetReason>(check_cursor(*model, narrowed, cursor_of(bound))),
            ResetReason::authorization_changed);
  later.claims = R"({"sub":"ann","spaces":["s","t"],"exp":3,"team":"x"})";
  EXPECT_EQ(std::get<Resume>(check_cursor(*model, bind(later, subscribe), cursor_of(bound))).after, at(6));
}

TEST_F(ActiveModelBind, row_29_what_is_not_there_and_what_is_not_allowed_are_one_answer) {
  const auto unknown_view = refusal(ann, subscribe_to("theirs"));
  const auto not_admitted = refusal(ann, subscribe_to("mine", R"({"below":0})", "u"));
  EXPECT_EQ(unknown_view.code, ErrorCode::forbidden);
  EXPECT_EQ(not_admitted.code, ErrorCode::forbidden);
  EXPECT_EQ(unknown_view.text, not_admitted.text);
  // Nor does a wrong parameter tell that the view is there, and what it takes.
  const auto wrong_parameter = refusal(ann, subscribe_to("mine", R"({"above":1})", "u"));
  EXPECT_EQ(wrong_parameter.code, ErrorCode::forbidden);
  EXPECT_EQ(wrong_parameter.text, not_admitted.text);
}

TEST_F(ActiveModelBind, a_wrong_parameter_is_named) {
  EXPECT_THAT(refusal(ann, subscribe_to("mine")).text, HasSubstr("below"));
  EXPECT_THAT(refusal(ann, subscribe_to("mine", R"({"below":"x"})")).text, HasSubstr("below"));
  EXPECT_EQ(refusal(ann, subscribe_to("mine", R"({"below":0,"above":1})")).code, ErrorCode::invalid_view);
}

TEST_F(ActiveModelBind, no_model_and_a_hole_in_a_capture_are_unavailable_and_say_when_to_return) {
  auto holed = std::make_shared<ActiveModel>(*model);
  holed->broken.emplace("accounts", "trigger disabled");
  const auto hole = std::get<SubscribeRefusal>(bind_subscription(*holed, ann, subscribe));
  EXPECT_EQ(hole.code, ErrorCode::unavailable);
  EXPECT_TRUE(hole.retry_after);
  EXPECT_EQ(hole.text, constant_text(ErrorCode::unavailable)) << "the cause is the operator's";
  holed->model = nullptr;
  EXPECT_EQ(std::get<SubscribeRefusal>(bind_subscription(*holed, ann, subscribe)).code, ErrorCode::unavailable);
}

TEST_F(ActiveModelBind, while_a_view_is_left_out_the_others_bind_and_nobody_learns_which_it_is) {
  auto partial = std::make_shared<ActiveModel>(*model);
  partial->left_out.insert("theirs");
  EXPECT_TRUE(std::holds_alternative<Bound>(bind_subscription(*partial, ann, subscribe)));
  const auto left_out = std::get<SubscribeRefusal>(bind_subscription(*partial, ann, subscribe_to("theirs")));
  const auto unknown = std::get<SubscribeRefusal>(bind_subscription(*partial, ann, subscribe_to("nothing")));
  const auto not_admitted =
      std::get<SubscribeRefusal>(bind_subscription(*partial, ann, subscribe_to("mine", R"({"below":0})", "u")));
  for (const auto& each : {left_out, unknown, not_admitted}) {
    EXPECT_EQ(each.code, ErrorCode::unavailable);
    EXPECT_EQ(each.text, left_out.text);
    EXPECT_EQ(each.retry_after, left_out.retry_after);
  }
}

}  // namespace
}  // namespace viewgate::gateway::testing
