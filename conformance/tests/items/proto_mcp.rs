//! The checklist of proto-mcp, and the tests that hold it: `PROTO_MCP.md`.

use crate::items::revisions::Test;
use crate::items::test_files::*;

/// Number, what it is in a few words, and the tests.
pub(crate) const PROTO_MCP: &[(&str, &str, &[Test])] = &[
    (
        "1",
        "the 23 messages and the service have the fields of version 1.0",
        &[
            (GENERATED, "the_messages_match_version_1_0"),
            (GENERATED, "the_service_has_the_five_calls_of_version_1_0"),
            (GENERATED, "the_committed_code_is_generated_from_the_proto_file"),
            (BUF, "the_messages_of_version_1_0_do_not_change"),
        ],
    ),
    ("2", "the first exchange, byte for byte", &[(GENERATED, "the_first_exchange_has_exactly_these_bytes")]),
    (
        "3",
        "a frame is a length and a body, of any size",
        &[
            (FRAMES, "messages_of_every_size_round_trip"),
            ("crates/codec/src/delimited.rs", "the_prefix_says_what_is_missing"),
        ],
    ),
    (
        "4",
        "a frame above the limit is refused and costs no memory",
        &[
            (FRAMES, "a_frame_beyond_the_limit_is_refused_in_both_directions"),
            (FRAMES, "an_announced_size_costs_no_memory"),
            (ENDS, "a_frame_beyond_the_limit_is_answered_and_ends_the_stream"),
        ],
    ),
    (
        "5",
        "a stream that ends inside a frame",
        &[(ENDS, "a_stream_that_ends_inside_a_frame_is_an_error_without_answer")],
    ),
    (
        "6",
        "single bytes, and many frames together",
        &[
            (FRAMES, "frames_arrive_in_single_bytes_and_many_together"),
            (FRAMES, "any_split_of_a_stream_gives_the_same_messages"),
        ],
    ),
    (
        "7, 8",
        "empty frames and garbage are answered, and the stream goes on",
        &[
            (FRAMES, "a_frame_without_a_message_is_answered_and_skipped"),
            (ENDS, "garbage_between_frames_is_answered_and_skipped"),
            (REQUESTS, "three_frames_of_garbage_in_a_row_end_the_conversation"),
        ],
    ),
    (
        "9",
        "unknown fields are ignored, unknown kinds of message are −32601",
        &[(FRAMES, "unknown_fields_are_ignored"), (FRAMES, "a_frame_without_a_message_is_answered_and_skipped")],
    ),
    ("10", "inline schemas keep every byte", &[(GENERATED, "an_inline_schema_survives_byte_for_byte")]),
    (
        "11",
        "nothing but frames on standard output, and a client that shares no code with this project",
        &[(PMCP, "a_client_on_another_runtime_lists_and_calls")],
    ),
    (
        "12",
        "no bytes cause a panic: frames, messages, references, descriptor sets",
        &[
            ("crates/bufmcp/tests/fuzzed.rs", "no_bytes_break_the_decoder_of_messages"),
            ("crates/descriptors/tests/fuzzed.rs", "no_text_breaks_the_reader_of_references"),
            ("crates/descriptors/tests/fuzzed.rs", "no_bytes_break_the_loader_of_descriptor_sets"),
        ],
    ),
    (
        "13",
        "the version matrix",
        &[
            ("crates/bufmcp/src/version.rs", "clients_and_servers_agree_as_the_matrix_says"),
            (OPENING, "versions_and_encodings_are_negotiated"),
            (OPENING, "a_refused_version_comes_with_the_versions_of_the_server"),
            (CLIENT, "a_refused_version_is_followed_by_an_older_one"),
            (CLIENT, "a_server_with_another_major_is_left"),
        ],
    ),
    (
        "14, 15",
        "initialize comes first and once, unless the server is lenient",
        &[
            (OPENING, "the_first_request_is_initialize_and_the_second_is_not"),
            (OPENING, "a_lenient_server_answers_clients_that_never_initialize"),
        ],
    ),
    (
        "16",
        "capabilities are common to both sides",
        &[
            (OPENING, "a_flag_is_true_only_if_both_sides_have_it"),
            (OPENING, "a_conversation_begins_with_versions_and_capabilities"),
        ],
    ),
    ("17", "encodings", &[(OPENING, "versions_and_encodings_are_negotiated")]),
    (
        "18",
        "a hundred concurrent calls",
        &[(REQUESTS, "answers_come_in_any_order_with_their_ids"), (CALLS, "a_hundred_calls_are_answered_out_of_order")],
    ),
    ("19", "an id is not used twice concurrently", &[(REQUESTS, "an_id_is_used_again_only_after_the_answer")]),
    (
        "20",
        "the end of input",
        &[
            (REQUESTS, "after_the_end_of_input_calls_have_their_grace"),
            (ENDS, "the_end_of_input_lets_calls_finish"),
            (ENDS, "calls_that_do_not_finish_are_answered_and_dropped"),
        ],
    ),
    ("21", "a response sent to a server", &[(REQUESTS, "messages_that_are_not_requests_are_refused")]),
    (
        "22, 23",
        "either protocol by its first bytes, answered on an open stream",
        &[
            ("crates/bufmcp/src/detection.rs", "the_first_bytes_decide"),
            (DETECTION, "either_protocol_is_answered_on_an_open_stream"),
            (ENDS, "a_small_first_frame_is_answered_while_the_stream_stays_open"),
        ],
    ),
    (
        "24, 26",
        "TLS, HTTP and absurd sizes where they are not served",
        &[
            (DETECTION, "other_protocols_end_with_a_clear_error"),
            (PMCP, "other_bytes_on_standard_input_end_with_a_reason"),
            (PMCP, "other_protocols_on_the_port_are_closed"),
            ("crates/bufmcp/src/detection.rs", "sizes_above_every_limit_are_named"),
        ],
    ),
    (
        "25",
        "gRPC, WebSocket and Streamable HTTP on one port, under one rule",
        &[(CARRIERS, "all_protocols_of_a_port_have_one_rule"), (GRPC, "streamable_http_and_grpc_share_a_port")],
    ),
    ("27", "no byte is lost by looking at it", &[(DETECTION, "either_protocol_is_answered_on_an_open_stream")]),
    (
        "28",
        "a silent client is not waited for on a network",
        &[(DETECTION, "a_silent_client_is_not_waited_for_on_a_network")],
    ),
    (
        "29",
        "the five calls over gRPC, by an official client",
        &[
            (GRPC, "an_official_client_makes_all_five_calls"),
            (GRPC, "failures_are_statuses_or_errors_of_the_call"),
            (GRPC, "streamable_http_and_grpc_share_a_port"),
            ("crates/grpc/src/status.rs", "each_failure_has_its_status_and_its_details"),
            ("crates/http/tests/http/protocols.rs", "bodies_and_trailers_stream_both_ways"),
        ],
    ),
    ("30", "listings above 4 MiB over gRPC", &[(GRPC, "a_large_listing_passes_and_the_rest_is_paged")]),
    (
        "31",
        "deadlines of clients over gRPC",
        &[
            (GRPC, "the_end_of_a_call_cancels_its_tool"),
            (GRPC, "an_official_client_has_streams"),
            ("crates/grpc/src/deadline.rs", "times_are_digits_and_a_unit"),
        ],
    ),
    (
        "32",
        "health and reflection over gRPC",
        &[
            (GRPC, "health_is_reported_and_reflection_only_if_wanted"),
            ("crates/grpc/src/descriptors.rs", "files_come_with_their_imports"),
            ("crates/grpc/src/descriptors.rs", "the_committed_set_is_compiled_from_the_proto_file"),
        ],
    ),
    (
        "33",
        "messages of WebSocket with and without prefix, text, large ones, and two in one",
        &[
            (WEBSOCKET, "wrong_messages_close_the_connection_with_their_code"),
            (WEBSOCKET_SERVER, "messages_with_and_without_prefix_are_answered_in_their_form"),
            (WEBSOCKET_SERVER, "two_messages_in_one_are_a_parse_error"),
        ],
    ),
    (
        "34",
        "the same behaviour over every carrier",
        &[
            (CARRIERS, "standard_input_and_output_behave"),
            (CARRIERS, "tcp_behaves"),
            (CARRIERS, "websocket_behaves"),
            (CARRIERS, "grpc_behaves"),
        ],
    ),
    ("35", "pages by count", &[(LISTS, "every_tool_is_on_one_page_in_order"), (LISTS, "resources_come_in_pages")]),
    (
        "36, 37",
        "stale and forged cursors",
        &[
            (LISTS, "forged_and_stale_cursors_are_refused"),
            ("crates/bufmcp/src/cursor.rs", "only_own_cursors_are_taken_and_only_for_their_list"),
        ],
    ),
    (
        "38",
        "the filter by reference",
        &[
            ("crates/bufmcp/src/selection.rs", "a_filter_matches_exactly_or_every_version"),
            (LISTS, "references_are_listed_without_the_registry_and_filter_tools"),
        ],
    ),
    (
        "39",
        "tools bring complete descriptors, or those that the client lacks",
        &[
            (TOOL_MESSAGES, "a_tool_brings_a_complete_schema"),
            (TOOL_MESSAGES, "a_client_with_the_well_known_files_gets_none"),
            (TOOL_MESSAGES, "a_schema_without_a_message_stays_a_struct"),
            (TOOL_MESSAGES, "large_arguments_and_hostile_schemas_are_bounded"),
            (TOOL_REGISTRY, "a_reference_is_resolved_when_it_is_needed"),
        ],
    ),
    ("40", "clients without references get schemas", &[(OPENING, "clients_without_references_get_schemas")]),
    (
        "41",
        "pages by size",
        &[
            ("crates/bufmcp/src/selection.rs", "a_page_ends_by_count_or_by_bytes"),
            (LISTS, "a_page_ends_before_it_is_too_large"),
        ],
    ),
];
