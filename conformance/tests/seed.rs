//! The tables of what the design of the library promises, and the tests that show it, `SEED.md`.
//!
//! `UPDATE_SEED=1 scripts/run-tests 'test(/^seed::/)'` writes them; without the variable these tests
//! fail when they are out of date, or when a test that is named does not exist.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

mod clients;

use clients::{CLIENTS, LATER};
use protomcp_testing::assert_committed;

/// Promises in a few words, and the tests that show them: file, name.
type Rows = &'static [(&'static str, &'static [(&'static str, &'static str)])];

/// The promises about servers.
const ROWS: Rows = &[
    (
        "a transport is a connection to read, write and close, and applications can add their own",
        &[("crates/typed/tests/seed/transports.rs", "a_custom_transport_takes_less_than_sixty_lines")],
    ),
    (
        "a transport can be chosen at run time",
        &[("crates/typed/tests/seed/transports.rs", "the_kind_of_transport_is_chosen_at_run_time")],
    ),
    (
        "a server over stdio, with protected output",
        &[("crates/server/tests/stdio.rs", "pipes_work_and_stay_blocking_for_others")],
    ),
    (
        "SSEHandler: the transport of 2024-11-05, and its end",
        &[
            ("crates/http/tests/http/legacy.rs", "everything_that_the_server_says_comes_by_one_connection"),
            ("crates/http/tests/http/legacy.rs", "the_session_ends_with_its_connection"),
        ],
    ),
    (
        "StreamableHandler: mounted in any HTTP server, sessions, and its end",
        &[
            ("crates/typed/tests/examples.rs", "axum_app"),
            ("crates/http/tests/http/sessions.rs", "a_handshake_mints_a_session_in_each_revision"),
            ("crates/http/tests/http/listening.rs", "the_end_of_the_server_ends_the_streams"),
        ],
    ),
    (
        "a client that reconnects is served where it left",
        &[("crates/http/tests/http/resume.rs", "a_client_that_reconnects_gets_missed_and_new_events")],
    ),
    ("a pair of transports in memory", &[("crates/typed/tests/seed/tools.rs", "a_server_with_a_single_tool")]),
    (
        "one server, many sessions, told apart",
        &[("crates/typed/tests/seed/sessions.rs", "one_server_has_many_sessions_and_they_are_told_apart")],
    ),
    (
        "adding and removing reaches all sessions, many changes together",
        &[("crates/typed/tests/typed/lists.rs", "every_session_is_notified_once_of_a_visible_change")],
    ),
    (
        "Close and Wait of a session",
        &[
            ("crates/typed/tests/seed/sessions.rs", "closing_waits_for_calls_as_long_as_it_may"),
            ("crates/typed/tests/seed/sessions.rs", "a_session_says_why_it_has_ended"),
        ],
    ),
    (
        "Run: until the client disconnects",
        &[("crates/typed/tests/seed/sessions.rs", "running_a_server_ends_with_the_host")],
    ),
    (
        "a cancelled call is a cancelled context",
        &[("crates/typed/tests/seed/sessions.rs", "cancelling_reaches_the_handler_and_nothing_is_answered")],
    ),
    (
        "NotifyProgress of the server, only when asked for",
        &[("crates/typed/tests/seed/sessions.rs", "progress_goes_to_the_request_that_asked_for_it")],
    ),
    (
        "NotifyProgress of the client",
        &[("crates/typed/tests/seed/sessions.rs", "a_host_reports_its_progress_on_a_question")],
    ),
    (
        "ListRoots and RootsChangedHandler",
        &[("crates/typed/tests/seed/sessions.rs", "a_server_hears_of_changed_roots_and_asks_for_them")],
    ),
    (
        "CreateMessage and ListRoots on the session; a clear error without one",
        &[
            ("crates/typed/tests/seed/sessions.rs", "a_host_reports_its_progress_on_a_question"),
            ("crates/typed/tests/seed/sessions.rs", "a_session_that_cannot_be_asked_says_why"),
        ],
    ),
    (
        "NewTool: a typed function with an inferred schema",
        &[
            ("crates/typed/tests/seed/tools.rs", "a_server_with_a_single_tool"),
            ("crates/typed/tests/typed/signatures.rs", "functions_and_closures_of_every_signature_are_tools"),
        ],
    ),
    (
        "AddTools and RemoveTools",
        &[("crates/typed/tests/seed/tools.rs", "tools_are_added_and_removed_and_every_session_is_notified")],
    ),
    (
        "required unless it may be left out, skipped when skipped",
        &[("crates/typed/tests/seed/tools.rs", "a_struct_determines_the_properties_and_the_required_ones")],
    ),
    (
        "Input(Property(…)): Description, Enum, Required, Schema, nested",
        &[
            ("crates/typed/tests/seed/tools.rs", "options_add_to_a_struct_and_are_validated_before_the_handler"),
            ("crates/typed/tests/seed/tools.rs", "nested_schemas_need_no_untyped_maps"),
            ("crates/typed/src/schema/tests.rs", "edits_reach_every_depth"),
        ],
    ),
    (
        "a full schema of JSON Schema 2020-12",
        &[("crates/typed/tests/typed/validation.rs", "a_raw_schema_is_advertised_unchanged_and_enforced")],
    ),
    (
        "schemas are validated before the handler, and a model can act on the message",
        &[("crates/typed/tests/typed/validation.rs", "mismatched_arguments_are_explained_and_not_passed_on")],
    ),
    (
        "NewPrompt, Argument(…), AddPrompts, RemovePrompts",
        &[("crates/typed/tests/seed/prompts.rs", "a_prompt_is_inferred_described_added_and_removed")],
    ),
    (
        "resources and templates: add, remove, list, read",
        &[("crates/typed/tests/seed/resources.rs", "resources_and_templates_are_added_read_and_removed")],
    ),
    (
        "subscriptions to resources",
        &[("crates/typed/tests/typed/resources.rs", "subscribers_are_notified_of_existing_resources_only")],
    ),
    (
        "completion from the collections; a handler overrides",
        &[
            ("crates/typed/tests/seed/prompts.rs", "completion_uses_the_collection_unless_a_handler_overrides"),
            ("crates/typed/tests/typed/resources.rs", "variables_are_completed_from_type_list_or_function"),
        ],
    ),
    (
        "the logger: attribute logger, data with the rest, levels between the standard ones",
        &[("crates/typed/tests/seed/logging.rs", "a_log_record_reaches_the_client_with_its_fields_and_level")],
    ),
    (
        "pagination with opaque cursors",
        &[("crates/typed/tests/typed/lists.rs", "a_list_is_sorted_and_its_pages_survive_changes")],
    ),
    (
        "AddMiddleware: one seam for requests, in order",
        &[
            ("crates/typed/tests/seed/middleware.rs", "middleware_sees_every_request_and_its_response_in_order"),
            ("crates/typed/tests/typed/layers.rs", "layers_of_the_server_come_first_and_of_each_the_last_added"),
        ],
    ),
    (
        "and one for what is sent",
        &[("crates/typed/tests/seed/middleware.rs", "outgoing_messages_pass_their_layers_in_order")],
    ),
    (
        "layers of tower as ours, and the other way round",
        &[
            ("crates/typed/tests/seed/middleware.rs", "layers_of_tower_are_layers_of_a_server"),
            ("crates/typed/tests/seed/middleware.rs", "services_of_this_library_are_services_of_tower"),
            ("crates/typed/tests/seed/middleware.rs", "a_layer_of_tower_can_wrap_one_tool"),
        ],
    ),
    ("a panic stays in its call", &[("crates/typed/tests/typed/outputs.rs", "a_failure_is_a_result_with_its_details")]),
    (
        "permits and a deadline for each tool",
        &[("crates/typed/tests/typed/layers.rs", "a_tool_has_its_own_deadline_and_permits")],
    ),
];

#[test]
fn the_table_is_up_to_date() {
    let mut wanted = String::from(
        "# The design and its tests\n\n\
         What the design of the library promises, and which test shows it.\n\
         These tables are written by `UPDATE_SEED=1 scripts/run-tests 'test(/^seed::/)'`.\n",
    );
    for (title, rows) in [("Servers", ROWS), ("Clients", CLIENTS)] {
        write!(wanted, "\n## {title}\n\n| what | tests |\n| --- | --- |\n").expect("a string grows");
        for (what, tests) in rows {
            let tests: Vec<_> = tests.iter().map(|(file, name)| format!("`{file}` `{name}`")).collect();
            writeln!(wanted, "| {what} | {} |", tests.join("<br>")).expect("a string grows");
        }
    }
    wanted.push_str("\n## Not there yet\n\n| what | instead |\n| --- | --- |\n");
    for (what, instead) in LATER {
        writeln!(wanted, "| {what} | {instead} |").expect("a string grows");
    }
    assert_committed(here().join("SEED.md"), wanted, "UPDATE_SEED");
}

#[test]
fn every_test_that_the_table_names_exists() {
    for (what, tests) in ROWS.iter().chain(CLIENTS) {
        assert!(!tests.is_empty(), "{what} has no test");
        for (file, name) in *tests {
            let path = here().join("..").join(file);
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file} cannot be read: {error}"));
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            let at =
                lines.iter().position(|line| line.trim_start_matches("async ").starts_with(&format!("fn {name}(")));
            let above = at
                .map(|at| lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//")));
            let is_test = above.is_some_and(|mut above| {
                above.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
            });
            assert!(is_test, "{what}: {file} has no test {name}");
        }
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
