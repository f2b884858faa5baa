//! The requirements of MCP on clients, in all revisions, and the tests that hold them: a third table of `ITEMS.md`.

use crate::items::revisions::Test;

/// Number, what it is in a few words, and the tests.
pub(crate) const CLIENTS: &[(&str, &str, &[Test])] = &[
    (
        "M28",
        "a client finds the era out over HTTP and stdio, tries a refused revision again, and falls back to a handshake",
        &[
            (OPENING, "the_era_follows_from_the_answer_to_discover"),
            (OPENING, "a_second_refusal_of_the_revision_is_final"),
            (OPENING, "a_silent_server_gets_a_handshake_on_a_shared_stream_only"),
            (OPENING, "the_handshake_accepts_each_known_revision"),
            (OPENING, "a_refused_revision_is_replaced_by_an_offered_one_once"),
            ("crates/client/tests/processes.rs", "a_server_that_ends_at_discovery_gets_a_handshake"),
            ("crates/client/tests/sessions/http.rs", "an_old_revision_is_negotiated_over_http"),
            (WITH_CLIENT, "calls_work_in_every_revision"),
            (WITH_CLIENT, "the_client_falls_back_to_the_oldest_transport"),
            (SUITE_CLIENT, "a_client_that_finds_the_era_out_by_itself_passes_too"),
        ],
    ),
    (
        "M29",
        "header fields of requests, arguments among them; tools left out with a warning; −32020 is repaired once",
        &[
            (REQUEST, "a_stateless_request_repeats_its_body"),
            (REQUEST, "a_session_names_its_revision_since_2025_06_18"),
            ("crates/types/src/header.rs", "text_is_wrapped_only_if_a_field_cannot_carry_it"),
            (MIRROR, "annotated_arguments_become_fields"),
            (MIRROR, "invalid_annotations_are_named"),
            (EXCHANGES, "annotated_arguments_travel_in_header_fields"),
            (EXCHANGES, "with_a_session_nothing_is_mirrored"),
            (EXCHANGES, "a_tool_that_is_left_out_is_named_in_the_log"),
            (EXCHANGES, "a_header_mismatch_is_repaired_once"),
            (SUITE_CLIENT, "the_official_suite_passes_at_all_revisions_without_a_warning"),
        ],
    ),
    (
        "M30",
        "rounds of questions: bounded, new ids, the exact state; defaults of forms",
        &[
            (ROUNDS, "a_round_brings_answers_and_the_exact_state"),
            (ROUNDS, "rounds_are_bounded_and_refusals_end_the_call"),
            ("crates/client/src/defaults.rs", "defaults_fill_what_the_user_has_left_out"),
            (QUESTIONS, "an_accepted_form_has_its_defaults"),
            (QUESTIONS, "the_questions_of_a_request_are_its_own"),
        ],
    ),
    (
        "M31",
        "a client reads events in every spelling, keeps the delay of the server, and resumes after the last event",
        &[
            (SSE, "lines_end_in_three_ways_in_any_mix"),
            (SSE, "data_is_joined_and_the_rest_is_ignored"),
            (SSE, "fields_are_read_by_their_rules"),
            (SSE, "an_event_without_data_moves_the_position"),
            (SSE, "an_event_is_bounded_and_other_lines_keep_nothing"),
            (SSE, "the_pieces_make_no_difference"),
            (RESUMING, "the_answer_comes_after_the_delay_of_the_server"),
            (RESUMING, "each_resumption_begins_at_the_last_event"),
            (RESUMING, "empty_streams_use_up_the_attempts"),
            (CLIENT_CUTS, "a_stream_that_breaks_is_resumed_after_its_first_id"),
        ],
    ),
    (
        "M32",
        "a lost session is begun again, its end is told to the server; deadlines move with progress up to a cap",
        &[
            (SESSIONS, "an_unknown_session_is_distinguished_from_other_failures"),
            (SESSIONS, "the_end_of_a_session_is_sent_to_the_server"),
            (WITH_CLIENT, "a_lost_session_is_begun_again_for_a_call"),
            (CLIENT_CALLS, "a_lost_session_is_replaced_and_its_calls_are_repeated"),
            (CLIENT_CALLS, "a_deadline_moves_with_progress_up_to_a_cap"),
            (CLIENT_CALLS, "endless_times_are_cut"),
            (CLIENT_CALLS, "limits_of_zero_fail_immediately_and_never_spin"),
            (EXCHANGES, "a_lost_session_is_opened_again_with_everything_in_it"),
            (CALLS, "a_call_out_of_time_fails_and_is_cancelled"),
        ],
    ),
    (
        "M33",
        "answers are used again for their time, within a session, until a change; never those after questions",
        &[
            (CACHE, "an_answer_is_kept_for_the_time_that_it_names"),
            (CACHE, "only_some_methods_are_kept_and_by_their_parameters"),
            (CACHE, "a_change_drops_answers_also_those_on_their_way"),
            (CACHING, "a_fresh_list_is_used_until_it_changes"),
            (CACHE, "a_private_answer_is_for_its_context_alone"),
            (CACHING, "a_private_answer_is_for_one_token"),
            (CACHING, "a_closed_session_answers_nothing"),
            (CACHING, "sessions_share_no_answers"),
            (CACHING, "an_answer_after_questions_is_never_kept"),
            (CACHING, "with_a_session_every_list_is_asked_for"),
        ],
    ),
    (
        "M34",
        "obtaining tokens: the table of OAuth scenarios, issuers as texts, bounds, no secret that goes astray",
        &[
            (DISCOVERY, "the_root_describes_no_issuer_with_a_path"),
            (DISCOVERY, "openid_metadata_is_the_second_choice"),
            (DISCOVERY, "metadata_of_another_resource_stops_the_flow"),
            (DISCOVERY, "a_server_without_any_metadata_has_the_default_endpoints"),
            (DISCOVERY, "the_issuer_is_compared_as_a_text"),
            (REGISTRATION, "credentials_of_an_issuer_that_is_no_longer_named_are_dropped"),
            (REGISTRATION, "the_client_url_is_the_id_where_it_is_supported"),
            (REGISTRATION, "the_token_endpoint_gets_the_authentication_that_it_supports"),
            (SCOPES, "scopes_come_from_the_challenge_or_the_metadata_or_nowhere"),
            (SCOPES, "a_step_up_asks_for_the_union"),
            (SCOPES, "offline_access_is_asked_for_only_where_it_is_supported"),
            ("crates/oauth/tests/authorization/sign_in.rs", "the_issuer_of_a_redirect_is_compared_as_a_text"),
            ("crates/oauth/tests/authorization/dpop.rs", "a_bound_token_is_presented_with_a_new_proof_each_time"),
            (GRANTS, "client_credentials_with_a_secret"),
            (GRANTS, "client_credentials_with_a_key"),
            (GRANTS, "a_workload_shows_its_assertion_once"),
            (GRANTS, "an_enterprise_exchanges_the_id_token_first"),
            ("crates/oauth/tests/oauth_client/stores.rs", "stores_keep_one_token_for_each_issuer_and_server"),
            ("crates/oauth/src/scope_choice.rs", "scopes_are_bounded_in_all"),
            (HOSTILE, "an_endless_step_up_ends"),
            (HOSTILE, "redirects_lead_no_secret_away"),
            ("crates/oauth/tests/oauth_client/flights.rs", "concurrent_requests_share_one_sign_in_and_one_refresh"),
            ("crates/http-client/tests/http_client/authorizing.rs", "endless_challenges_end_after_three"),
            (SUITE_CLIENT, "the_official_suite_passes_at_all_revisions_without_a_warning"),
        ],
    ),
    (
        "M35",
        "a result without a type is complete, one of an unknown type is an error; a missing resource has either code",
        &[
            (ROUNDS, "the_type_of_a_stateless_result_counts"),
            ("crates/session/src/client/error.rs", "a_missing_resource_is_recognized_by_either_code"),
            (CALLS, "a_missing_resource_is_recognized_in_both_eras"),
        ],
    ),
    (
        "H1",
        "a hostile MCP server: endless and dripping bodies, events and heads, endless lists, invalid schemas, redirects",
        &[
            (BODIES, "an_endless_body_is_cut"),
            (BODIES, "an_endless_event_is_cut"),
            (BODIES, "a_dripping_event_is_cut"),
            (BODIES, "a_dripping_body_is_cut"),
            (BODIES, "an_endless_head_is_cut"),
            (BODIES, "a_response_without_a_head_is_given_up"),
            (REDIRECTS, "nothing_is_sent_to_another_origin"),
            (REDIRECTS, "a_circle_of_redirects_ends"),
            (LISTS, "a_hostile_list_ends_with_a_clear_error"),
            (LISTS, "a_hostile_list_does_not_hold_up_the_repair_of_a_call"),
            (LISTS, "an_invalid_schema_costs_its_own_tool_alone"),
            ("crates/client/tests/sessions/load.rs", "bytes_that_a_server_does_not_read_are_bounded"),
        ],
    ),
    (
        "H2",
        "a hostile authorization server: another issuer, endless step-ups, challenges and documents, redirects; on the wire",
        &[
            (HOSTILE, "the_metadata_of_another_issuer_is_not_used"),
            (HOSTILE, "an_endless_step_up_ends"),
            (HOSTILE, "a_step_up_that_is_not_granted_ends"),
            (HOSTILE, "a_server_that_rejects_every_token_ends"),
            (HOSTILE, "redirects_lead_no_secret_away"),
            (HOSTILE, "a_redirect_loop_ends"),
            (HOSTILE, "a_slow_server_is_given_up"),
            (HOSTILE, "an_endless_document_is_cut"),
            (HOSTILE, "a_nonce_that_never_fits_ends"),
        ],
    ),
];

const BODIES: &str = "crates/http-client/tests/http_client/bodies.rs";
const CACHE: &str = "crates/client/src/cache.rs";
const CACHING: &str = "crates/client/tests/sessions/caching.rs";
const CALLS: &str = "crates/client/tests/sessions/calls.rs";
const CLIENT_CALLS: &str = "crates/session/tests/client/calls.rs";
const CLIENT_CUTS: &str = "crates/http-client/tests/http_client/cuts.rs";
const DISCOVERY: &str = "crates/oauth/tests/authorization/discovery.rs";
const EXCHANGES: &str = "crates/client/tests/sessions/exchanges.rs";
const GRANTS: &str = "crates/oauth/tests/authorization/grants.rs";
const HOSTILE: &str = "crates/oauth/tests/oauth_client/hostile.rs";
const LISTS: &str = "crates/client/tests/sessions/lists.rs";
const MIRROR: &str = "crates/client/src/mirror.rs";
const OPENING: &str = "crates/session/tests/client/opening.rs";
const QUESTIONS: &str = "crates/client/tests/sessions/questions.rs";
const REDIRECTS: &str = "crates/http-client/tests/http_client/redirects.rs";
const REGISTRATION: &str = "crates/oauth/tests/authorization/registration.rs";
const REQUEST: &str = "crates/http-client/src/request.rs";
const RESUMING: &str = "crates/http-client/tests/http_client/resuming.rs";
const ROUNDS: &str = "crates/session/tests/client/rounds.rs";
const SCOPES: &str = "crates/oauth/tests/authorization/scopes.rs";
const SESSIONS: &str = "crates/http-client/tests/http_client/sessions.rs";
const SSE: &str = "crates/http-client/src/sse.rs";
const SUITE_CLIENT: &str = "conformance/tests/suite_client.rs";
const WITH_CLIENT: &str = "crates/http-client/tests/http_client/with_client.rs";
