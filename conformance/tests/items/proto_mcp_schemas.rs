//! The checklist of proto-mcp from item 42: schemas, calls, safety, conversion.

use crate::items::revisions::Test;
use crate::items::test_files::*;

/// Number, what it is in a few words, and the tests.
pub(crate) const PROTO_MCP_SCHEMAS: &[(&str, &str, &[Test])] = &[
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
            ("conformance/tests/registries.rs", "a_client_resolves_the_references_of_a_server"),
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
            ("crates/descriptors/src/registry/cache/tests.rs", "times_decide_about_labels"),
            ("crates/descriptors/src/registry/cache/tests.rs", "the_next_request_has_the_entity_tag"),
            (TOOL_REGISTRY, "a_moved_label_changes_the_messages"),
        ],
    ),
    ("49", "old schemas while a registry fails", &[(REGISTRY, "an_old_schema_serves_while_the_registry_fails")]),
    (
        "50",
        "schemas on disk",
        &[
            (REGISTRY, "schemas_survive_a_restart_on_disk"),
            ("crates/descriptors/src/registry/disk.rs", "entries_survive_and_are_private"),
            ("crates/descriptors/src/registry/disk.rs", "damaged_files_are_ignored_and_deleted"),
            ("crates/descriptors/src/registry/disk.rs", "the_oldest_files_leave_first"),
            (REGISTRIES, "a_reference_is_resolved_written_and_kept"),
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
        "cases of each outcome from a registry",
        &[(CORPUS, "cases_of_every_outcome_pass_from_a_registry"), (CORPUS, "cases_with_another_outcome_fail")],
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
            ("crates/bufmcp/src/tokens.rs", "only_the_exact_token_is_accepted"),
            (OPENING, "tokens_are_checked_once_or_with_each_call"),
            (CALLS, "metadata_reaches_the_tool_without_the_token"),
            (PMCP, "a_token_is_required_and_leaves_no_other_protocol"),
            (CALLS, "a_token_at_the_beginning_holds_for_everything"),
            (GRPC, "a_token_is_a_header_and_health_may_be_open"),
            (CARRIERS, "tokens_of_an_issuer_hold_over_every_carrier"),
            (CARRIERS, "a_token_of_an_issuer_may_come_with_a_call_over_tcp"),
            ("crates/bufmcp/tests/session/verification.rs", "tokens_of_an_issuer_are_verified_outside"),
            ("crates/http/tests/http/protocols.rs", "a_request_of_another_protocol_passes_the_same_checks"),
        ],
    ),
    (
        "64",
        "limits of rate",
        &[
            ("crates/bufmcp/src/rate_limit.rs", "calls_come_back_one_by_one"),
            ("crates/bufmcp/src/rate_limit.rs", "all_tools_together_have_their_own_limit"),
            ("crates/bufmcp/src/rate_limit.rs", "what_is_over_is_forgotten"),
            (CALLS, "too_many_calls_of_one_tool_are_refused"),
        ],
    ),
    (
        "65",
        "TLS 1.3 alone, and no plain text beyond this machine unless it is allowed",
        &[
            (PMCP, "a_port_with_a_certificate_speaks_tls_1_3_alone"),
            (GRPC, "grpc_alone_is_encrypted_with_tls_1_3"),
            ("conformance/tests/tls.rs", "grpc_and_websocket_need_tls_1_3_on_the_port_of_http"),
            ("crates/http/tests/http/tls.rs", "a_protocol_may_need_tls_1_3"),
            ("cli/src/args/tests.rs", "tcp_has_the_flags_that_do_not_need_headers"),
        ],
    ),
    (
        "66",
        "certificates of clients, whose name becomes the principal",
        &[
            (CERTIFICATES, "only_clients_with_a_good_certificate_get_through"),
            (CERTIFICATES, "the_name_in_a_certificate_is_the_principal"),
            (CERTIFICATES, "the_command_presents_a_certificate_over_every_carrier"),
        ],
    ),
    (
        "67",
        "pinned keys of a registry",
        &[(REGISTRY, "keys_can_be_pinned"), (REGISTRIES, "only_a_registry_with_a_pinned_key_is_asked")],
    ),
    (
        "68",
        "requests in flight and connections are bounded",
        &[
            (STREAMS, "streams_share_the_limit_of_connections"),
            (REQUESTS, "requests_in_flight_are_bounded"),
            (REQUESTS, "a_client_that_does_not_read_is_not_read_from"),
            (CALLS, "calls_beyond_the_limit_are_refused_and_lists_pass"),
            (PMCP, "connections_beyond_the_limit_are_closed"),
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
            (SAMPLES, "the_compiler_of_protobuf_agrees"),
            (CONVERSION, "keywords_without_a_rule_are_reported"),
        ],
    ),
    (
        "71",
        "odd keys, and numbers that stay",
        &[(CONVERSION, "odd_keys_survive"), (FIELD_LOCK, "numbers_stay_when_properties_move")],
    ),
    (
        "72",
        "JSON Schemas of messages",
        &[
            (SAMPLES, "messages_accept_what_their_schemas_accept"),
            (BUF, "sets_of_either_compiler_give_the_same_json_schemas"),
        ],
    ),
    ("73", "recursive messages", &[(CONVERSION_REFERENCES, "recursion_becomes_its_own_message")]),
    (
        "74",
        "a client of JSON-RPC in front of a server of proto-mcp",
        &[
            (ROUND_TRIP, "tools_arrive_as_they_were_defined"),
            (ROUND_TRIP, "results_arrive_as_they_were_returned"),
            (ROUND_TRIP, "errors_keep_their_codes_on_the_way"),
            (PMCP, "both_protocols_have_the_same_results_on_one_port"),
            (TOOL_CLIENT, "schemas_and_values_pass_both_conversations"),
            ("conformance/tests/proto_upstreams.rs", "an_official_client_sees_the_same_through_proto_mcp"),
            ("conformance/tests/proto_upstreams.rs", "errors_keep_their_codes_and_notifications_have_no_reply"),
        ],
    ),
    (
        "75",
        "a published server of JSON-RPC behind a client of proto-mcp",
        &[(PMCP, "a_published_server_is_used_in_proto_mcp"), (PMCP, "a_server_from_pypi_is_used_in_proto_mcp")],
    ),
    (
        "76",
        "integers beyond 2^53 are exact or reported",
        &[
            ("crates/bufmcp/src/well_known.rs", "integers_that_a_double_does_not_hold_are_reported"),
            (ROUND_TRIP, "errors_keep_their_codes_on_the_way"),
            (TOOL_MESSAGES, "arguments_arrive_as_the_schema_wants_them"),
            (TOOL_CLIENT, "schemas_and_values_pass_both_conversations"),
        ],
    ),
    ("77", "one command writes the tables of tokens", &[(CLAIMS, "the_tables_of_tokens_come_from_captured_lists")]),
    (
        "78",
        "the steps of a call are measured, and none costs out of proportion",
        &[(CLAIMS, "each_step_of_a_call_is_measured_next_to_its_peer")],
    ),
    ("79", "each claim has a verdict", &[(CLAIMS, "each_claim_has_figures_and_the_verdict_of_them")]),
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
