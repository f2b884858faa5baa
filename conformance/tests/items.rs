//! The table of checklist items and the tests that hold them, `ITEMS.md`.
//!
//! A test of this package names its items in its doc comment (`/// Items 36, 41.`); tests of other packages are named
//! here. The table is written from both: `UPDATE_ITEMS=1 scripts/run-tests 'test(/^items::/)'` does it, and
//! without the variable these tests fail when it is out of date, when an item has no test, or when a test that is named
//! does not exist.

mod clients;
mod proto_mcp;
mod proto_mcp_schemas;
mod revisions;
mod test_files;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clients::CLIENTS;
use proto_mcp::PROTO_MCP;
use proto_mcp_schemas::PROTO_MCP_SCHEMAS;
use protomcp_testing::assert_committed;
use revisions::{REVISIONS, Test};

/// The items of the compatibility checklist that are promised so far, in a few words each.
const ITEMS: &[(u32, &str)] = &[
    (1, "field numbers agree with the published SDKs' own bytes"),
    (2, "a frame split at every byte is put together"),
    (3, "frames of length zero are ignored"),
    (4, "unknown messages and fields, and a namespace, are ignored"),
    (5, "a frame above the limit fails its own call only"),
    (6, "a raw payload, and the frame behind it"),
    (7, "a compressed payload of the Python SDK"),
    (8, "a compressed payload of the Rust SDK, which names no size"),
    (9, "absurd sizes and bombs: bounded memory, a clear error"),
    (10, "a raw payload for an unknown or cancelled call"),
    (11, "an unknown compression"),
    (12, "results in chunks"),
    (13, "the chunk threshold reaches the tool process"),
    (14, "a Python file with run()"),
    (15, "a Rust program, with group tools"),
    (16, "socket and environment of the tool process"),
    (17, "which Python runs a .py file"),
    (18, "which command runs any other file, and --runtime"),
    (19, "where the socket lies, and that it goes"),
    (20, "a process that leaves before it connects"),
    (21, "the completion signal ends the handshake immediately"),
    (22, "silence ends the handshake"),
    (23, "middleware is acknowledged, late too"),
    (24, "nothing but acknowledgements during the handshake"),
    (25, "hidden tools are hidden from the first list"),
    (26, "a process that never answers the other lists"),
    (27, "a tool list without an id during a reload"),
    (28, "versions and capabilities"),
    (29, "standard output carries JSON-RPC only"),
    (30, "a script that writes everything and hangs up"),
    (31, "ping before and during calls"),
    (32, "unknown methods, tools, prompts and resources"),
    (33, "the list is sorted and paged"),
    (34, "input schemas, good and bad"),
    (35, "titles and hints"),
    (36, "exact text, ASCII or not"),
    (37, "arguments byte for byte"),
    (38, "every shape of result_json"),
    (39, "images, audio, resources, links"),
    (40, "an error result is not a JSON-RPC error"),
    (41, "all parts of a tool's error are visible"),
    (42, "structured content, digit for digit"),
    (43, "an output schema without structured content"),
    (44, "a handler with keyword arguments"),
    (45, "exceptions and panics of handlers"),
    (46, "sys.exit in a handler"),
    (47, "the call timeout"),
    (48, "ids and order of concurrent calls"),
    (49, "a hundred concurrent calls of two sessions"),
    (50, "other requests while a Python tool runs"),
    (51, "progress tokens keep their type"),
    (52, "progress without a token goes nowhere"),
    (53, "progress after the answer is dropped"),
    (54, "cancelling a running call"),
    (55, "cancelling a queued call"),
    (56, "cancelling what is unknown"),
    (57, "log messages: levels, data, thresholds"),
    (58, "every transition of the tool list"),
    (59, "a result that changes the list"),
    (60, "the six control messages are answered"),
    (61, "a batch is atomic and told once"),
    (62, "a single reader gets active_tools next"),
    (63, "handlers of the two-reader SDK that change the list"),
    (64, "a workflow of the Python SDK"),
    (65, "the Rust SDK changes the list"),
    (66, "when the host is told of a change"),
    (67, "a save replaces tools"),
    (68, "calls in flight survive a save"),
    (69, "swap and immediate reloads"),
    (70, "both orders of a reload, and a refusal"),
    (71, "a broken edit takes nothing away"),
    (72, "many saves, few reloads"),
    (73, "middleware is replaced by a reload, not added to"),
    (74, "a fresh process starts with a fresh selection"),
    (75, "the host is told after a reload, of other lists when they changed"),
    (76, "run does not watch"),
    (77, "the order of middleware"),
    (78, "middleware that rewrites arguments and results"),
    (79, "middleware that rejects a call"),
    (80, "middleware that fails"),
    (81, "middleware that changes nothing"),
    (85, "asking the host's model"),
    (86, "asking for the host's folders"),
    (87, "tasks, with and without a host that knows them"),
    (82, "resources, templates and prompts of the published SDKs"),
    (83, "a changed resource is told to subscribers"),
    (84, "completions, cut at a hundred"),
    (88, "a killed tool process"),
    (89, "a crash loop"),
    (90, "nothing is left behind"),
    (91, "mistakes on the command line"),
    (92, "pmcp validate: every rule, text and JSON, exit codes"),
    (93, "pmcp test: lists and calls, as text and JSON, in both word orders"),
    (94, "pmcp test: scenarios"),
    (95, "Streamable HTTP: sessions, streams, names and pages"),
    (96, "secrets that hosts must show"),
    (97, "every transport, and those that are not there"),
    (98, "the playground: its page, its requests, its events, pages of other origins"),
    (99, "the version of the build"),
    (100, "a third party's tool process"),
];

/// Tests of other packages: item, source file, name.
const ELSEWHERE: &[(u32, &str, &str)] = &[
    (1, "crates/codec/tests/golden.rs", "every_message_of_the_published_sdk_round_trips"),
    (1, "crates/codec/tests/golden.rs", "every_message_of_the_proto_file_round_trips"),
    (2, "crates/codec/tests/streams.rs", "every_stream_decodes_to_its_frames_split_at_every_byte"),
    (3, "crates/codec/tests/streams.rs", "frames_of_length_zero_are_counted"),
    (5, "crates/codec/tests/limits.rs", "a_frame_of_200_mib_is_skipped_in_little_memory"),
    (9, "crates/codec/tests/inflate.rs", "a_bomb_stops_at_the_limit_or_at_its_claim"),
    (11, "crates/codec/tests/inflate.rs", "an_unknown_compression_is_named"),
    (9, "crates/bridge/tests/talk/hostile.rs", "a_bomb_fails_its_own_call"),
    (12, "crates/bridge/tests/talk/hostile.rs", "a_flood_of_chunks_fails_its_own_call"),
    (22, "crates/link/src/handshake/tests.rs", "a_start_is_ready_at_the_signal_or_after_silence"),
    (57, "crates/bridge/tests/talk/logs.rs", "every_level_and_every_kind_of_data_reaches_the_host"),
    (57, "crates/bridge/tests/talk/logs.rs", "each_client_gets_its_levels_of_messages_of_its_calls"),
    (57, "crates/server/tests/sessions/logging.rs", "each_level_lets_through_itself_and_what_is_worse"),
    (58, "crates/toollist/tests/transitions.rs", "enabling_shows_a_name_in_the_way_of_the_mode"),
    (58, "crates/toollist/tests/transitions.rs", "disabling_hides_a_name_in_the_way_of_the_mode"),
    (58, "crates/toollist/tests/transitions.rs", "set_allowed_replaces_mode_and_names"),
    (58, "crates/toollist/tests/transitions.rs", "set_blocked_replaces_mode_and_names"),
    (58, "crates/toollist/tests/transitions.rs", "setting_no_names_goes_back_to_open_and_forgets"),
    (58, "crates/toollist/tests/transitions.rs", "a_batch_takes_its_policy_first_then_enables_then_disables"),
    (58, "crates/toollist/tests/transitions.rs", "a_name_both_enabled_and_disabled_ends_disabled"),
    (58, "crates/toollist/tests/transitions.rs", "a_batch_that_allows_and_blocks_is_rejected_as_a_whole"),
    (85, "crates/bridge/tests/talk/questions.rs", "a_question_without_a_call_goes_to_the_client_with_calls"),
    (86, "crates/bridge/tests/talk/questions.rs", "a_question_without_a_call_goes_to_the_client_with_calls"),
    (86, "crates/bridge/tests/talk/questions.rs", "without_a_call_the_only_able_client_is_asked_or_none"),
    (87, "crates/bridge/tests/talk/tasks.rs", "a_client_that_requests_a_task_gets_it_and_its_result"),
    (87, "crates/bridge/tests/talk/tasks.rs", "a_client_without_tasks_gets_the_result_of_one"),
    (87, "crates/bridge/tests/talk/tasks.rs", "cancelling_reaches_the_task_of_the_process"),
    (87, "crates/bridge/tests/talk/tasks.rs", "the_end_of_the_process_is_the_end_of_its_tasks"),
];

#[test]
fn every_item_has_a_test_and_the_table_is_up_to_date() {
    let mut found = tagged();
    for (item, file, name) in ELSEWHERE {
        found.entry(*item).or_default().push(format!("`{file}` `{name}`"));
    }
    let missing: Vec<_> = ITEMS.iter().filter(|(item, _)| !found.contains_key(item)).collect();
    assert!(missing.is_empty(), "items without a test: {missing:?}");
    let known: BTreeSet<u32> = ITEMS.iter().map(|(item, _)| *item).collect();
    let strange: Vec<_> = found.keys().filter(|item| !known.contains(*item)).collect();
    assert!(strange.is_empty(), "tests name items that are not in the list: {strange:?}");

    check("ITEMS.md", &table(&found));
}

#[test]
fn the_table_of_proto_mcp_is_up_to_date() {
    let mut text = String::from(
        "# proto-mcp: items and their tests\n\n\
         Which test holds which item of the checklist of proto-mcp (`buf.mcp.v1`).\n\
         This table is written by `UPDATE_ITEMS=1 scripts/run-tests 'test(/^items::/)'`.\n\n\
         | item | what | tests |\n| ---: | --- | --- |\n",
    );
    requirements(&mut text, PROTO_MCP);
    requirements(&mut text, PROTO_MCP_SCHEMAS);
    check("PROTO_MCP.md", &text);
}

/// A row may hold several items.
#[test]
fn proto_mcp_has_a_row_for_each_of_its_80_items() {
    let rows = PROTO_MCP.iter().chain(PROTO_MCP_SCHEMAS).flat_map(|(items, _, _)| items.split(", "));
    let mut items: Vec<u32> = rows.map(|item| item.parse().expect("an item is a number")).collect();
    items.sort_unstable();
    assert_eq!(items, (1..=80).collect::<Vec<_>>());
}

/// Compares a table with its file, or writes it.
fn check(file: &str, wanted: &str) {
    assert_committed(here().join(file), wanted, "UPDATE_ITEMS");
}

#[test]
fn tests_of_other_packages_that_the_table_names_exist() {
    let revisions =
        REVISIONS.iter().chain(CLIENTS).chain(PROTO_MCP).chain(PROTO_MCP_SCHEMAS).flat_map(|(item, _, tests)| {
            assert!(!tests.is_empty(), "item {item} has no test");
            tests.iter().map(move |(file, name)| ((*item).to_owned(), *file, *name))
        });
    let elsewhere = ELSEWHERE.iter().map(|(item, file, name)| (item.to_string(), *file, *name));
    for (item, file, name) in elsewhere.chain(revisions) {
        let path = here().join("..").join(file);
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("item {item}: {file} cannot be read: {error}"));
        assert!(has_test(&text, name), "item {item}: {file} has no test {name}");
        let package = package(&path);
        assert!(!excluded().contains(&package), "item {item}: scripts/run-tests excludes {package}, which has {name}");
    }
}

/// The name of the package that a source file belongs to.
fn package(file: &Path) -> String {
    let manifest = file.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.exists());
    let text = fs::read_to_string(manifest.expect("a package")).expect("a manifest can be read");
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.expect("a package has a name").to_owned()
}

/// The packages whose tests run in the long tier only.
fn excluded() -> Vec<String> {
    let script = fs::read_to_string(here().join("../scripts/run-tests")).expect("a script");
    let list = script.lines().find_map(|line| line.strip_prefix("BENCHMARKS = ["));
    let names = list.and_then(|list| list.strip_suffix(']')).expect("a list in one line").split(", ");
    names.map(|name| name.trim_matches('"').to_owned()).collect()
}

/// A `fn name()` directly below a `#[test]` or `#[tokio::test]`; other attributes and doc comments may stand between,
/// but none that ignores it: a test that nothing runs holds no item.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| line.trim_start_matches("async ").starts_with(&format!("fn {name}(")));
    at.is_some_and(|at| {
        let before = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        let has = |beginning: &str| before.clone().any(|line| line.starts_with(beginning));
        (has("#[test]") || has("#[tokio::test")) && !has("#[ignore")
    })
}

/// The tests of this package by item.
fn tagged() -> BTreeMap<u32, Vec<String>> {
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut files: Vec<PathBuf> = fs::read_dir(here().join("tests"))
        .expect("the tests can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).expect("tests are UTF-8");
        let topic = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let mut items: Vec<u32> = Vec::new();
        for line in text.lines() {
            if let Some(list) = line.strip_prefix("/// Items ").or_else(|| line.strip_prefix("/// Item ")) {
                let numbers = list.trim_end_matches('.').split(", ");
                items = numbers.map(|number| number.parse().unwrap_or_else(|_| panic!("{topic}: {line}"))).collect();
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                for item in items.drain(..) {
                    found.entry(item).or_default().push(format!("`{topic}::{name}`"));
                }
            }
        }
    }
    found
}

fn table(found: &BTreeMap<u32, Vec<String>>) -> String {
    let mut text = String::from(
        "# Items and their tests\n\n\
         Which test holds which item of the compatibility checklist. `calls::…` is a test in `tests/calls.rs` next to this \
         file; a test of another package is named by its file and its name.\n\
         This table is written by `UPDATE_ITEMS=1 scripts/run-tests 'test(/^items::/)'`.\n\n\
         Times that the product promises are checked with made-up time in the package that decides about them. The tests here \
         use real processes on whatever machine, and allow ten times what is promised, in the long tier: 10 s for a crash or a \
         failed start that is to be told within one (items 20, 88, 89), ten times 45 ms and a start of the process for a save \
         (item 67). Any other wait ends after 120 s, or `PMCP_PATIENCE` seconds.\n\n\
         | item | what | tests |\n| ---: | --- | --- |\n",
    );
    for (item, what) in ITEMS {
        let tests = found.get(item).map(|tests| tests.join("<br>")).unwrap_or_default();
        writeln!(text, "| {item} | {what} | {tests} |").expect("a string grows");
    }
    text.push_str(
        "\n## The revisions of MCP\n\n\
         What MCP asks of a server (M), and where reference servers leave it and the official suite does not look (D).\n\n\
         | item | what | tests |\n| ---: | --- | --- |\n",
    );
    requirements(&mut text, REVISIONS);
    text.push_str(
        "\n## Clients of MCP\n\nWhat MCP asks of a client (M), and what a hostile server cannot do to it (H).\n\n| item | what | tests |\n| ---: | --- | --- |\n",
    );
    requirements(&mut text, CLIENTS);
    text
}

fn requirements(text: &mut String, rows: &[(&str, &str, &[Test])]) {
    for (item, what, tests) in rows {
        let tests: Vec<_> = tests.iter().map(|(file, name)| format!("`{file}` `{name}`")).collect();
        writeln!(text, "| {item} | {what} | {} |", tests.join("<br>")).expect("a string grows");
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
