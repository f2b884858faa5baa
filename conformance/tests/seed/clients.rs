//! The promises of the design about clients, the second table of `SEED.md`.

use crate::seed::Rows;

/// The promises and their tests.
pub(crate) const CLIENTS: Rows = &[
    (
        "a transport is a connection to read, write and close, and applications can add their own",
        &[("crates/client/tests/seed/transports.rs", "a_custom_transport_takes_less_than_sixty_lines")],
    ),
    (
        "a transport can be chosen at run time",
        &[("crates/client/tests/seed/transports.rs", "the_kind_of_transport_is_chosen_at_run_time")],
    ),
    (
        "NewClient, Connect, CallTool, Close; over a pair of transports in memory",
        &[(SAMPLE, "a_client_connects_calls_and_closes")],
    ),
    (
        "CommandTransport: standard error, an end in steps, nothing left behind, restarts",
        &[
            (SAMPLE, "a_client_starts_the_server_that_it_calls"),
            (PROCESSES, "a_program_is_a_server"),
            (PROCESSES, "the_end_of_a_process_is_quoted"),
            (PROCESSES, "a_server_that_ignores_the_end_of_its_input_is_killed"),
            (PROCESSES, "the_last_handle_ends_the_process"),
            (PROCESSES, "a_transport_may_be_dropped_outside_a_runtime"),
            (PROCESSES, "a_crashed_server_is_started_again"),
            (PROCESSES, "a_server_that_keeps_crashing_is_given_up"),
        ],
    ),
    (
        "SSEClientTransport: the transport of 2024-11-05, found out by itself",
        &[
            ("crates/http-client/tests/http_client/old_servers.rs", "an_old_server_is_recognized"),
            ("crates/http-client/tests/http_client/old_servers.rs", "the_old_transport_of_this_project_is_spoken"),
            (WITH_CLIENT, "the_client_falls_back_to_the_oldest_transport"),
        ],
    ),
    (
        "StreamableClientTransport: all revisions, a bad URL is an error",
        &[
            (HTTP, "a_session_works_over_http"),
            (WITH_CLIENT, "calls_work_in_every_revision"),
            ("crates/http-client/src/server_url.rs", "a_url_of_a_server_is_plain"),
        ],
    ),
    (
        "it reconnects transparently, with a budget that only events renew, and in a new session if the old one is lost",
        &[
            (RESUMING, "each_resumption_begins_at_the_last_event"),
            (RESUMING, "empty_streams_use_up_the_attempts"),
            (RESUMING, "a_permanent_status_ends_the_attempts"),
            (WITH_CLIENT, "a_lost_session_is_begun_again_for_a_call"),
            (EXCHANGES, "a_lost_session_is_opened_again_with_everything_in_it"),
        ],
    ),
    (
        "every call is completed or failed on every exit",
        &[
            ("crates/session/tests/client/torture.rs", "each_call_ends_exactly_once"),
            (EXCHANGES, "the_end_of_the_transport_ends_every_call"),
            (ENDS, "the_end_of_the_server_ends_every_call"),
            (CALLS, "a_call_out_of_time_fails_and_is_cancelled"),
        ],
    ),
    ("one client, many sessions, told apart", &[(SESSIONS, "one_client_has_many_sessions_and_they_are_told_apart")]),
    (
        "Close and Wait of a session, and the reason of its end",
        &[
            (SESSIONS, "a_session_is_awaited_and_says_why_it_has_ended"),
            (ENDS, "closing_fails_what_is_open_and_ends_both_sides"),
            (ENDS, "the_last_handle_closes_the_connection"),
        ],
    ),
    (
        "cancelling returns immediately and the server is told",
        &[
            (SESSIONS, "a_cancelled_call_returns_immediately_and_notifies_the_server"),
            (CALLS, "a_dropped_call_is_cancelled_at_the_server"),
            (HTTP, "a_dropped_call_is_cancelled_over_http"),
        ],
    ),
    ("a cancelled question ends its handler", &[(QUESTIONS, "a_handler_ends_with_its_question")]),
    (
        "ProgressToken: any request can ask for progress, in order and before the answer",
        &[
            (SESSIONS, "any_request_can_ask_for_progress_and_none_has_to"),
            (CALLS, "progress_comes_in_order_and_before_the_answer"),
        ],
    ),
    (
        "NotifyProgress of the client, only when asked for",
        &[
            (SESSIONS, "progress_of_the_client_goes_to_a_server_that_asked_for_it"),
            (QUESTIONS, "a_handler_reports_progress_to_the_server"),
        ],
    ),
    (
        "AddRoots and RemoveRoots: paths, absent roots, all sessions",
        &[
            (SESSIONS, "roots_are_added_and_removed_and_every_session_is_notified"),
            (QUESTIONS, "roots_are_declared_and_their_changes_announced"),
            ("crates/client/src/roots.rs", "a_path_becomes_a_file_uri"),
        ],
    ),
    (
        "CreateMessageHandler, in both eras; what has no handler is not declared",
        &[
            (QUESTIONS, "the_model_of_the_client_answers"),
            (QUESTIONS, "what_is_not_declared_is_not_asked"),
            ("crates/client/src/settings.rs", "capabilities_follow_from_the_handlers"),
        ],
    ),
    (
        "a handler that fails, panics or takes too long harms only its question",
        &[(QUESTIONS, "a_handler_that_fails_harms_only_its_question")],
    ),
    (
        "ToolListChangedHandler, PromptListChangedHandler, ResourceListChangedHandler",
        &[(SESSIONS, "each_list_has_its_notification"), (HTTP, "changes_are_announced_over_http")],
    ),
    (
        "ListPrompts, GetPrompt, ListResources, ReadResource, ListResourceTemplates, Complete",
        &[(SESSIONS, "lists_are_read_and_their_elements_used"), (CALLS, "each_request_has_its_answer")],
    ),
    ("subscriptions to resources", &[(CHANGES, "changes_of_a_subscribed_resource_are_announced")]),
    (
        "data of users stays unread; results can be read into types",
        &[
            (CALLS, "typed_calls_read_structured_content"),
            ("crates/client/src/typed_call.rs", "a_result_is_read_from_structure_or_text"),
        ],
    ),
    ("log messages by level", &[(CHANGES, "log_messages_come_from_the_wanted_level_on")]),
    (
        "pages as one stream, and lists that do not end",
        &[
            ("crates/client/tests/sessions/lists.rs", "all_pages_come_in_order"),
            ("crates/client/src/pages.rs", "all_pages_are_one_stream"),
            ("crates/client/src/pages.rs", "a_list_that_does_not_end_is_an_error"),
            ("crates/client/tests/sessions/lists.rs", "a_hostile_list_ends_with_a_clear_error"),
        ],
    ),
    (
        "AddSendingMiddleware: one seam for requests, in order; layers of tower",
        &[
            (LAYERS, "layers_see_every_request_and_its_response_in_order"),
            (LAYERS, "a_layer_changes_and_answers_requests"),
            (LAYERS, "layers_of_tower_are_layers_of_a_client"),
            (LAYERS, "a_layer_repeats_requests_with_their_options"),
            (EXCHANGES, "a_repair_is_not_held_back_by_the_layers_of_its_call"),
        ],
    ),
    (
        "AddReceivingMiddleware: one function for questions, one for notifications",
        &[
            (QUESTIONS, "one_function_answers_every_question_unread"),
            (CHANGES, "an_observer_sees_notifications_in_order_with_answers"),
        ],
    ),
    (
        "KeepAlive with a threshold",
        &[(ENDS, "a_server_that_answers_pings_is_kept"), (ENDS, "a_silent_server_is_given_up")],
    ),
    ("a panic stays in its callback", &[(CALLS, "a_panic_in_a_callback_harms_nothing")]),
    (
        "requests and notifications that wait are bounded",
        &[
            (CALLS, "calls_without_an_answer_are_bounded"),
            (CHANGES, "a_slow_handler_holds_up_nothing_and_loses_only_a_flood"),
        ],
    ),
];

/// Promises of the design that the library does not keep yet, and the present state.
pub(crate) const LATER: &[(&str, &str)] = &[
    ("typed data of the application on a session of a client", "`ClientSession::id` tells sessions apart"),
    ("a policy for lost sessions", "a lost session is always begun again"),
    ("servers as child processes on Windows", "`CommandTransport` needs unix"),
];

const CALLS: &str = "crates/client/tests/sessions/calls.rs";
const CHANGES: &str = "crates/client/tests/sessions/changes.rs";
const ENDS: &str = "crates/client/tests/sessions/ends.rs";
const EXCHANGES: &str = "crates/client/tests/sessions/exchanges.rs";
const HTTP: &str = "crates/client/tests/sessions/http.rs";
const LAYERS: &str = "crates/client/tests/seed/layers.rs";
const PROCESSES: &str = "crates/client/tests/processes.rs";
const QUESTIONS: &str = "crates/client/tests/sessions/questions.rs";
const RESUMING: &str = "crates/http-client/tests/http_client/resuming.rs";
const SAMPLE: &str = "crates/client/tests/seed/sample.rs";
const SESSIONS: &str = "crates/client/tests/seed/sessions.rs";
const WITH_CLIENT: &str = "crates/http-client/tests/http_client/with_client.rs";
