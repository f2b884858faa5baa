//! The checklist of proto-mcp, and the tests that hold it: `PROTO_MCP.md`.

use crate::revisions::Test;

/// Number, what it is in a few words, and the tests.
pub(crate) const PROTO_MCP: &[(&str, &str, &[Test])] = &[
    (
        "1",
        "the 23 messages and the service have the fields of version 1.0",
        &[
            (GENERATED, "the_messages_are_those_of_version_1_0"),
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
        "single bytes, and many frames at once",
        &[
            (FRAMES, "frames_arrive_in_single_bytes_and_many_at_once"),
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
        "13",
        "the version matrix",
        &[
            ("crates/binary/src/version.rs", "clients_and_servers_agree_as_the_matrix_says"),
            (OPENING, "versions_and_encodings_are_negotiated"),
            (OPENING, "a_refused_version_comes_with_those_of_the_server"),
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
        "capabilities are those of both sides",
        &[
            (OPENING, "a_flag_is_true_only_if_both_sides_have_it"),
            (OPENING, "a_conversation_begins_with_versions_and_capabilities"),
        ],
    ),
    ("17", "encodings", &[(OPENING, "versions_and_encodings_are_negotiated")]),
    (
        "18",
        "a hundred calls at once",
        &[(REQUESTS, "answers_come_in_any_order_with_their_ids"), (CALLS, "a_hundred_calls_are_answered_out_of_order")],
    ),
    ("19", "an id is not used twice at once", &[(REQUESTS, "an_id_is_used_again_only_after_the_answer")]),
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
            ("crates/binary/src/detection.rs", "the_first_bytes_decide"),
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
            ("crates/binary/src/detection.rs", "sizes_above_every_limit_are_named"),
        ],
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
        &[(GRPC, "the_end_of_a_call_cancels_its_tool"), ("crates/grpc/src/deadline.rs", "times_are_digits_and_a_unit")],
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
            ("crates/binary/src/cursor.rs", "only_own_cursors_are_taken_and_only_for_their_list"),
        ],
    ),
    (
        "38",
        "the filter by reference",
        &[
            ("crates/binary/src/selection.rs", "a_filter_matches_exactly_or_every_version"),
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
            ("crates/binary/src/selection.rs", "a_page_ends_by_count_or_by_bytes"),
            (LISTS, "a_page_ends_before_it_is_too_large"),
        ],
    ),
    (
        "42",
        "references, good and bad",
        &[
            (REFERENCES, "good_references_are_read_and_written_alike"),
            (REFERENCES, "bad_references_are_refused_by_the_part_at_fault"),
        ],
    ),
    (
        "43",
        "only allowed registries are contacted",
        &[
            (REGISTRY, "hosts_that_are_not_allowed_are_not_contacted"),
            ("conformance/tests/schema_command.rs", "only_registries_that_are_named_are_asked"),
        ],
    ),
    (
        "44, 45",
        "both interfaces and encodings of a registry; tokens go there and nowhere else",
        &[
            (REGISTRY, "both_interfaces_and_both_encodings_resolve"),
            (REGISTRY, "tokens_are_sent_to_their_registry_only"),
        ],
    ),
    (
        "46",
        "failures of a registry",
        &[
            (REGISTRY, "failures_are_told_apart"),
            (REGISTRY, "temporary_failures_are_tried_again"),
            (REGISTRY, "requests_keep_the_pace_of_the_registry"),
            (TOOL_REGISTRY, "a_reference_without_a_schema_fails_with_its_cause"),
        ],
    ),
    (
        "47",
        "a hundred misses are one request",
        &[(REGISTRY, "a_hundred_misses_are_one_request"), (TOOL_REGISTRY, "many_first_calls_are_one_request")],
    ),
    (
        "48",
        "labels are asked for again, commits are not",
        &[
            (REGISTRY, "a_moved_label_is_noticed_and_a_commit_is_fetched_once"),
            ("crates/bsr/src/registry/cache/tests.rs", "times_decide_about_labels"),
            ("crates/bsr/src/registry/cache/tests.rs", "the_next_request_has_the_entity_tag"),
            (TOOL_REGISTRY, "a_moved_label_changes_the_messages"),
        ],
    ),
    ("49", "old schemas while a registry fails", &[(REGISTRY, "an_old_schema_serves_while_the_registry_fails")]),
    (
        "50",
        "schemas on disk",
        &[
            (REGISTRY, "schemas_survive_a_restart_on_disk"),
            ("crates/bsr/src/registry/disk.rs", "entries_survive_and_are_private"),
            ("crates/bsr/src/registry/disk.rs", "damaged_files_are_ignored_and_deleted"),
            ("crates/bsr/src/registry/disk.rs", "the_oldest_files_leave_first"),
        ],
    ),
    (
        "51",
        "two versions of one package",
        &[
            (MESSAGES, "two_versions_of_one_package_live_side_by_side"),
            (VALIDATION, "two_versions_have_their_own_rules"),
        ],
    ),
    (
        "52",
        "files of edition 2023",
        &[(HOSTILE, "edition_2023_is_read_or_refused"), (VALIDATION, "other_editions_are_refused_by_number")],
    ),
    (
        "53",
        "hostile descriptor sets",
        &[
            (HOSTILE, "imports_are_there_and_end"),
            (HOSTILE, "names_are_not_used_twice"),
            (HOSTILE, "sizes_are_limited_before_anything_is_built"),
            (HOSTILE, "nesting_is_limited"),
        ],
    ),
    (
        "54",
        "the call and the schema of the specification",
        &[(VALIDATION, "the_call_of_the_specification_violates_its_own_schema")],
    ),
    ("55", "each kind of rule", &[(VALIDATION, "each_kind_of_rule_accepts_and_refuses")]),
    (
        "56",
        "the recorded cases of protovalidate, where a file with them is given",
        &[("crates/bsr/tests/registry/corpus.rs", "every_case_of_the_corpus_passes")],
    ),
    (
        "57",
        "wrong, undecodable and absent arguments",
        &[
            (CALLS, "wrong_arguments_do_not_reach_the_tool"),
            (CALLS, "structured_content_is_data_and_not_repeated_as_text"),
            (TOOL_MESSAGES, "broken_rules_do_not_reach_the_handler"),
        ],
    ),
    (
        "58, 60",
        "failures of a tool and of a call",
        &[
            (CALLS, "failures_of_a_tool_and_of_a_call_are_apart"),
            (REQUESTS, "failures_have_the_message_of_their_request"),
        ],
    ),
    (
        "59",
        "−33003 after the time of a call",
        &[
            (REQUESTS, "a_call_has_a_deadline_and_its_time_is_told"),
            (CALLS, "a_late_tool_is_given_up_in_time_and_dropped"),
        ],
    ),
    (
        "61",
        "text, images and data of results",
        &[
            (CALLS, "structured_content_is_data_and_not_repeated_as_text"),
            (CALLS, "images_are_bytes_and_other_blocks_are_data"),
            (TOOL_MESSAGES, "results_are_messages_of_the_output"),
        ],
    ),
    (
        "62",
        "rules are checked before a handler runs",
        &[
            (TOOL_MESSAGES, "broken_rules_do_not_reach_the_handler"),
            (PMCP, "broken_rules_do_not_reach_the_tool_process"),
            (TOOL_CLIENT, "a_client_sends_nothing_that_breaks_a_rule"),
            (TOOL_CLIENT, "rules_that_do_not_end_are_given_up"),
        ],
    ),
    (
        "63",
        "tokens",
        &[
            ("crates/binary/src/tokens.rs", "only_the_exact_token_is_accepted"),
            (OPENING, "tokens_are_checked_once_or_with_each_call"),
            (CALLS, "metadata_reaches_the_tool_without_the_token"),
            (PMCP, "a_token_is_required_and_leaves_no_other_protocol"),
            (CALLS, "a_token_at_the_beginning_holds_for_everything"),
            (GRPC, "a_token_is_a_header_and_health_may_be_open"),
            ("crates/http/tests/http/protocols.rs", "a_request_of_another_protocol_passes_the_same_checks"),
        ],
    ),
    (
        "64",
        "limits of rate",
        &[
            ("crates/binary/src/rate_limit.rs", "calls_come_back_one_by_one"),
            ("crates/binary/src/rate_limit.rs", "all_tools_together_have_a_limit_of_their_own"),
            ("crates/binary/src/rate_limit.rs", "what_is_over_is_forgotten"),
            (CALLS, "too_many_calls_of_one_tool_are_refused"),
        ],
    ),
    (
        "65",
        "TLS 1.3 alone, and no plain text beyond this machine unless it is allowed",
        &[
            (PMCP, "a_port_with_a_certificate_speaks_tls_1_3_alone"),
            (GRPC, "grpc_alone_is_encrypted_with_tls_1_3"),
            ("cli/src/args/tests.rs", "tcp_has_the_flags_that_do_not_need_headers"),
        ],
    ),
    (
        "66",
        "certificates of clients, whose name becomes the principal",
        &[
            (CERTIFICATES, "only_clients_with_a_good_certificate_get_through"),
            (CERTIFICATES, "the_name_in_a_certificate_is_the_principal"),
        ],
    ),
    ("67", "pinned keys of a registry", &[(REGISTRY, "keys_can_be_pinned")]),
    (
        "68",
        "requests in flight and connections are bounded",
        &[
            (STREAMS, "streams_share_the_limit_of_connections"),
            (REQUESTS, "requests_in_flight_are_bounded"),
            (REQUESTS, "a_client_that_does_not_read_is_not_read_from"),
            (CALLS, "more_calls_than_are_taken_wait_their_turn"),
        ],
    ),
    (
        "69",
        "the example of the specification, in both styles",
        &[
            (CONVERSION, "the_example_of_the_specification_comes_out_as_printed"),
            (CONVERSION, "the_strict_style_loses_nothing_of_it"),
        ],
    ),
    (
        "70",
        "schemas of tools convert, compile and agree with their messages",
        &[
            (SAMPLES, "schemas_of_tools_convert_and_agree"),
            (SAMPLES, "captured_schemas_convert_and_agree"),
            (SAMPLES, "the_compiler_of_protobuf_agrees"),
            (CONVERSION, "keywords_without_a_rule_are_reported"),
        ],
    ),
    (
        "71",
        "odd keys, and numbers that stay",
        &[(CONVERSION, "odd_keys_survive"), (CONVERSION, "numbers_stay_when_properties_move")],
    ),
    (
        "72",
        "JSON Schemas of messages",
        &[
            (SAMPLES, "messages_accept_what_their_schemas_accept"),
            (BUF, "sets_of_either_compiler_give_the_same_json_schemas"),
        ],
    ),
    ("73", "recursive messages", &[(CONVERSION, "recursion_becomes_a_message_of_its_own")]),
    (
        "74",
        "a client of JSON-RPC in front of a server of proto-mcp",
        &[
            (ROUND_TRIP, "tools_arrive_as_they_were_defined"),
            (ROUND_TRIP, "results_arrive_as_they_were_returned"),
            (ROUND_TRIP, "errors_keep_their_codes_on_the_way"),
            (PMCP, "both_protocols_have_the_same_results_on_one_port"),
            (TOOL_CLIENT, "schemas_and_values_pass_both_conversations"),
        ],
    ),
    (
        "75",
        "a published server of JSON-RPC behind a client of proto-mcp",
        &[(PMCP, "a_published_server_is_used_in_proto_mcp")],
    ),
    (
        "76",
        "integers beyond 2^53 are exact or reported",
        &[
            ("crates/binary/src/well_known.rs", "integers_that_a_double_does_not_hold_are_reported"),
            (ROUND_TRIP, "errors_keep_their_codes_on_the_way"),
            (TOOL_MESSAGES, "arguments_arrive_as_the_schema_wants_them"),
            (TOOL_CLIENT, "schemas_and_values_pass_both_conversations"),
        ],
    ),
    (
        "80",
        "the field numbers of the first published implementation",
        &[
            (FRAMES, "requests_for_lists_are_read_in_the_numbers_that_are_set"),
            (FRAMES, "other_numbers_without_the_setting_are_reported"),
            (LISTS, "clients_with_other_field_numbers_search_list_and_page"),
            (LISTS, "other_field_numbers_are_noticed_where_they_are_not_expected"),
            (CLIENT, "the_field_numbers_follow_the_server"),
        ],
    ),
];

/// The rows without a test so far.
pub(crate) const PROTO_MCP_LATER: &[(&str, &str)] = &[
    ("12", "the fuzz targets `messages` and `conversation`, which are not tests (docs/fuzzing.md)"),
    ("25", "WebSocket beside Streamable HTTP and gRPC on one port, in one test"),
    ("77, 79", "the program `proto_claims`, which is not a test (docs/proto-mcp-claims.md)"),
    ("78", "benches of encoding, validation and look-ups are part of that program; CI runs none"),
];

const BUF: &str = "conformance/tests/buf.rs";
const TOOL_MESSAGES: &str = "crates/binary/tests/descriptors/server.rs";
const TOOL_CLIENT: &str = "crates/binary/tests/descriptors/client.rs";
const TOOL_REGISTRY: &str = "crates/binary/tests/descriptors/registry.rs";
const GRPC: &str = "conformance/tests/grpc.rs";
const GENERATED: &str = "crates/binary/tests/generated.rs";
const FRAMES: &str = "crates/binary/tests/frames.rs";
const OPENING: &str = "crates/binary/tests/session/opening.rs";
const REQUESTS: &str = "crates/binary/tests/session/requests.rs";
const CALLS: &str = "crates/binary/tests/serve/calls.rs";
const LISTS: &str = "crates/binary/tests/serve/lists.rs";
const ENDS: &str = "crates/binary/tests/serve/ends.rs";
const DETECTION: &str = "crates/binary/tests/serve/detection.rs";
const PMCP: &str = "conformance/tests/proto_mcp.rs";
const CARRIERS: &str = "conformance/tests/carriers.rs";
const CERTIFICATES: &str = "conformance/tests/client_certificates.rs";
const WEBSOCKET: &str = "conformance/tests/websocket.rs";
const WEBSOCKET_SERVER: &str = "crates/websocket/tests/websocket/server.rs";
const CLIENT: &str = "crates/binary/tests/client/table.rs";
const STREAMS: &str = "crates/listener/tests/streams.rs";
const ROUND_TRIP: &str = "crates/binary/tests/client/round_trip.rs";
const REFERENCES: &str = "crates/bsr/tests/references.rs";
const VALIDATION: &str = "crates/bsr/tests/validation.rs";
const MESSAGES: &str = "crates/bsr/tests/messages.rs";
const HOSTILE: &str = "crates/bsr/tests/hostile_sets.rs";
const REGISTRY: &str = "crates/bsr/tests/registry/main.rs";
const CONVERSION: &str = "crates/bsr/tests/conversion.rs";
const SAMPLES: &str = "crates/bsr/tests/conversion_samples.rs";
