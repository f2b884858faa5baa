//! The requirements of MCP on servers, in all revisions, and the tests that hold it: a second table of `ITEMS.md`.
//!
//! Numbers with an M come from the checklist that the project works from; those with a D are points on which the
//! reference servers leave the specification, and which the official suite does not look at.

/// A test: source file and name.
pub(crate) type Test = (&'static str, &'static str);

/// Number, what it is in a few words, and the tests.
pub(crate) const REVISIONS: &[(&str, &str, &[Test])] = &[
    (
        "M1",
        "each version with a handshake is echoed, any other becomes the newest of them",
        &[
            (INITIALIZE, "stateful_versions_are_echoed_and_others_become_the_newest"),
            (SESSIONS, "an_unknown_version_gets_the_newest_with_sessions"),
        ],
    ),
    (
        "M2",
        "notifications and answers are taken with 202 and no body",
        &[(REQUESTS, "notifications_and_answers_are_taken_without_a_body")],
    ),
    (
        "M3",
        "session ids: visible ASCII, 400 without, 404 when unknown or deleted",
        &[
            (SESSIONS, "a_handshake_mints_a_session_in_each_revision"),
            (SESSIONS, "a_request_needs_the_id_of_its_session"),
            (SESSIONS, "a_deleted_session_is_gone_and_its_calls_with_it"),
        ],
    ),
    (
        "M4",
        "a bad version in the header is 400, none is fine",
        &[(REQUESTS, "an_invalid_request_gets_the_matching_status")],
    ),
    (
        "M5",
        "ping and logging/setLevel are answered with {}",
        &[(PING, "ping_is_answered_while_a_tool_runs"), (LOGGING, "each_level_lets_through_itself_and_what_is_worse")],
    ),
    (
        "M6",
        "levels of a session; messages and progress before the answer, on its stream",
        &[
            (LOGGING, "levels_are_per_session_and_count_after_the_handshake"),
            (REQUESTS, "log_messages_of_a_call_leave_by_its_stream"),
            (REQUESTS, "a_message_before_the_answer_makes_it_a_stream"),
        ],
    ),
    (
        "M7",
        "questions on the stream of their call; without the capability, or without the host, they fail",
        &[
            (REQUESTS, "a_question_travels_on_the_stream_of_the_call_that_asks"),
            (ASK, "a_host_is_not_asked_what_it_does_not_declare"),
            (QUESTIONS, "a_question_fails_as_soon_as_its_client_cannot_come_back"),
            (QUESTIONS, "a_question_fails_when_its_client_does_not_come_back_in_time"),
        ],
    ),
    (
        "M8",
        "concurrent requests are answered independently",
        &[(REQUESTS, "concurrent_requests_are_answered_independently")],
    ),
    (
        "M9",
        "one GET stream of a session; 406 for who accepts no events",
        &[
            (LISTENING, "a_session_has_one_stream_of_this_kind"),
            (REQUESTS, "an_invalid_request_gets_the_matching_status"),
        ],
    ),
    (
        "M10",
        "resuming: opening event, retry, only the same stream, unknown ids",
        &[
            (RESUME, "a_client_that_reconnects_gets_missed_and_new_events"),
            (RESUME, "only_the_events_of_the_same_stream_come_again"),
            (RESUME, "a_handler_may_close_the_stream_until_it_is_done"),
            (RESUME, "an_unknown_event_is_a_bad_request"),
            (RESUME, "a_client_that_reconnects_too_late_gets_an_error"),
            (CUTS, "an_answer_arrives_once_wherever_its_connections_are_cut"),
            (REORDERED, "each_request_ends_once_in_any_order_of_messages"),
            (CUTS, "session_messages_arrive_once_wherever_connections_are_cut"),
            (MODEL, "nothing_promised_is_lost_and_nothing_comes_twice"),
            (MODEL, "a_forgotten_event_is_reported_as_missing"),
        ],
    ),
    (
        "M11",
        "batches in 2025-03-26, and nowhere else",
        &[
            (HTTP_BATCH, "a_batch_is_answered_with_one_array"),
            (HTTP_BATCH, "a_batch_is_refused_where_it_does_not_belong"),
        ],
    ),
    (
        "M12",
        "the transport of 2024-11-05, when asked for",
        &[
            (LEGACY, "everything_that_the_server_says_comes_by_one_connection"),
            (LEGACY, "it_is_off_unless_asked_for"),
            (CUTS, "the_old_transport_ends_wherever_its_connection_is_cut"),
        ],
    ),
    (
        "M13",
        "changes are told to those who want to know",
        &[
            (RESOURCES, "only_a_host_that_has_subscribed_hears_of_changes"),
            (CHANGES, "only_ready_sessions_of_the_audience_are_notified"),
        ],
    ),
    (
        "M14",
        "both required members of _meta are missed, clientInfo is not",
        &[(META, "both_required_members_are_missed"), (ERAS, "faults_are_reported_in_the_order_that_clients_expect")],
    ),
    ("M15", "server/discover", &[(DISCOVER, "a_server_says_what_it_is_without_a_handshake")]),
    (
        "M16",
        "−32020, −32021, −32022 and 404 with their payloads, headers in every spelling",
        &[
            (ERAS, "faults_are_reported_in_the_order_that_clients_expect"),
            (ERAS, "annotated_arguments_are_repeated_in_headers"),
            ("crates/types/src/header.rs", "wrapped_text_is_read_strictly"),
            (META, "a_revision_that_is_not_spoken_is_refused_with_those_that_are"),
            (META, "what_the_revision_has_removed_is_not_there"),
            (MRTR, "what_the_client_does_not_declare_is_named"),
        ],
    ),
    (
        "M17",
        "an error before anything else has the status of an error",
        &[
            (ASKING, "a_capability_that_is_missing_is_a_bad_request"),
            (ERAS, "an_error_after_a_report_comes_as_an_event"),
        ],
    ),
    (
        "M18",
        "resultType everywhere, hints on six methods",
        &[(SHAPES, "results_have_a_type_and_lists_and_reads_a_lifetime")],
    ),
    (
        "M19",
        "log messages for requests that name a level, −32602 for one that is none",
        &[(META, "log_messages_are_for_requests_that_want_them")],
    ),
    (
        "M20",
        "subscriptions/listen",
        &[
            (LISTEN, "listeners_are_notified_after_the_acknowledgement"),
            (LISTEN, "only_requested_changes_are_sent_and_the_id_keeps_its_type"),
            (LISTEN, "a_server_that_stops_says_so_to_who_listens"),
            (ERAS, "a_listener_is_notified_of_changes_until_the_end"),
            (ERAS, "each_listen_request_gets_the_changes_it_asked_for"),
            ("conformance/tests/stateless.rs", "two_subscriptions_on_one_connection_stay_separate"),
        ],
    ),
    (
        "M21",
        "questions without a session, and states that are foreign or changed",
        &[
            (MRTR, "questions_are_the_result_and_the_next_request_has_answers"),
            (MRTR, "a_state_is_for_one_request_of_one_kind_once"),
            (MRTR, "a_state_is_for_who_got_it"),
            (MRTR, "answers_without_a_state_are_for_a_call_that_begins_anew"),
            ("crates/session/src/request_state/tests.rs", "a_changed_state_is_refused"),
            (ASK, "a_handler_with_state_at_the_client_is_called_again"),
        ],
    ),
    (
        "M22",
        "closing the response cancels the request",
        &[
            (ERAS, "a_connection_that_breaks_cancels_its_request"),
            (HTTP2, "a_stream_that_is_reset_cancels_its_request_and_no_other"),
        ],
    ),
    ("M23", "GET and DELETE are 405 without a session in 2026-07-28", &[(ERAS, "each_row_of_the_table_of_eras")]),
    ("M24", "which era a request is of", &[(ERAS, "each_row_of_the_table_of_eras")]),
    (
        "M25",
        "hosts and origins of strangers are 403",
        &[
            (SAFETY, "foreign_hosts_and_origins_are_refused"),
            ("crates/http/src/guard.rs", "a_page_is_refused_unless_it_is_of_this_machine_or_named"),
            ("conformance/tests/browser.rs", "a_page_of_another_origin_gets_nothing"),
            ("conformance/tests/browser.rs", "a_page_of_an_allowed_origin_is_a_client_in_both_eras"),
        ],
    ),
    (
        "M26",
        "OAuth: metadata, challenges, audience, no tokens in the query",
        &[
            (OAUTH, "the_oauth_metadata_needs_no_token"),
            (OAUTH, "every_request_needs_a_token"),
            (OAUTH, "a_token_in_the_query_is_none"),
            (OAUTH, "a_call_that_needs_more_scopes_names_them"),
            ("conformance/tests/oauth.rs", "tokens_count_if_the_issuer_has_signed_them_for_this_server"),
        ],
    ),
    (
        "M27",
        "long bodies, deep JSON, slow readers",
        &[
            (LIMITS, "a_body_that_is_too_long_is_refused"),
            (LIMITS, "json_that_is_nested_too_deep_is_an_error"),
            (LIMITS, "an_unread_stream_is_bounded_and_keeps_the_newest"),
        ],
    ),
    (
        "M36",
        "−32700, −32600, ids as they came",
        &[
            (PARSE, "what_is_not_json_is_a_parse_error_without_id"),
            (PARSE, "json_that_is_not_a_message_is_an_invalid_request"),
            ("crates/types/src/id.rs", "an_id_goes_back_as_it_came"),
            ("crates/types/src/id.rs", "null_fractions_and_large_numbers_are_not_ids"),
        ],
    ),
    (
        "M37",
        "cancelling before, during and after",
        &[
            (CANCEL, "a_cancelled_call_is_never_answered"),
            (CANCEL, "its_id_is_free_immediately_and_not_confused_with_the_old_one"),
            (CANCEL, "what_cancels_nothing_is_ignored"),
        ],
    ),
    (
        "M38",
        "progress grows and never follows the answer",
        &[(PROGRESS, "progress_that_does_not_grow_or_comes_late_is_dropped")],
    ),
    (
        "M39",
        "bad cursors are −32602, the empty one is good",
        &[
            (SHAPES, "a_bad_cursor_is_refused_in_both_eras"),
            (TOOLS, "the_list_comes_in_pages_and_the_empty_cursor_is_one"),
        ],
    ),
    (
        "M40",
        "what is unknown passes through",
        &[
            (TOOLS, "arguments_and_results_are_carried_to_the_byte"),
            ("crates/types/src/tool.rs", "a_definition_survives_with_everything_in_it"),
            ("crates/types/src/content.rs", "a_block_is_understood_or_kept_as_it_is"),
            ("conformance/tests/basics.rs", "input_schemas_pass_through_and_bad_ones_are_replaced"),
        ],
    ),
    (
        "D1",
        "a handshake in 1999-01-01 is not echoed",
        &[(SESSIONS, "an_unknown_version_gets_the_newest_with_sessions")],
    ),
    ("D2", "a page of a stranger at a good name is refused", &[(SAFETY, "foreign_hosts_and_origins_are_refused")]),
    ("D3", "a parse error is a JSON-RPC error", &[(REQUESTS, "an_invalid_request_gets_the_matching_status")]),
    (
        "D4",
        "a bad cursor and a bad log level are refused in 2026-07-28",
        &[(SHAPES, "a_bad_cursor_is_refused_in_both_eras"), (META, "log_messages_are_for_requests_that_want_them")],
    ),
    ("D5", "Accept: */* is accepted", &[(REQUESTS, "an_invalid_request_gets_the_matching_status")]),
    (
        "D6",
        "no handshake leads to 2026-07-28",
        &[("crates/server/tests/sessions/eras.rs", "the_stateless_revision_is_not_reached_by_a_handshake")],
    ),
    (
        "D7",
        "an unknown tool is 400 and −32602 in 2026-07-28",
        &[(ERAS, "faults_are_reported_in_the_order_that_clients_expect")],
    ),
    (
        "D8",
        "a request without Mcp-Name is 400 and −32020 in 2026-07-28",
        &[(ERAS, "faults_are_reported_in_the_order_that_clients_expect")],
    ),
    ("D9", "a request without its session is 400 and JSON", &[(SESSIONS, "a_request_needs_the_id_of_its_session")]),
];

const ASKING: &str = "crates/http/tests/http/asking.rs";
const CUTS: &str = "crates/http/tests/http/cuts.rs";
const ERAS: &str = "crates/http/tests/http/eras.rs";
const HTTP_BATCH: &str = "crates/http/tests/http/batch.rs";
const HTTP2: &str = "crates/http/tests/http/http2.rs";
const LEGACY: &str = "crates/http/tests/http/legacy.rs";
const LIMITS: &str = "crates/http/tests/http/limits.rs";
const LISTENING: &str = "crates/http/tests/http/listening.rs";
const MODEL: &str = "crates/http/src/streams/model.rs";
const OAUTH: &str = "crates/http/tests/http/oauth.rs";
const QUESTIONS: &str = "crates/http/tests/http/questions.rs";
const REORDERED: &str = "crates/http/tests/http/reordered.rs";
const REQUESTS: &str = "crates/http/tests/http/requests.rs";
const RESUME: &str = "crates/http/tests/http/resume.rs";
const SAFETY: &str = "crates/http/tests/http/safety.rs";
const SESSIONS: &str = "crates/http/tests/http/sessions.rs";

const ASK: &str = "crates/server/tests/sessions/ask.rs";
const CANCEL: &str = "crates/server/tests/sessions/cancel.rs";
const CHANGES: &str = "crates/server/tests/sessions/changes.rs";
const DISCOVER: &str = "crates/server/tests/sessions/discover.rs";
const INITIALIZE: &str = "crates/server/tests/sessions/initialize.rs";
const LISTEN: &str = "crates/server/tests/sessions/listen.rs";
const LOGGING: &str = "crates/server/tests/sessions/logging.rs";
const META: &str = "crates/server/tests/sessions/meta.rs";
const MRTR: &str = "crates/server/tests/sessions/mrtr.rs";
const PARSE: &str = "crates/types/tests/parse.rs";
const PING: &str = "crates/server/tests/sessions/ping.rs";
const PROGRESS: &str = "crates/server/tests/sessions/progress.rs";
const RESOURCES: &str = "crates/server/tests/sessions/resources.rs";
const SHAPES: &str = "crates/server/tests/sessions/shapes.rs";
const TOOLS: &str = "crates/server/tests/sessions/tools.rs";
