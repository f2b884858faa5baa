//! Command lines and what is made of them.

use std::time::Duration;

use protomcp_bridge::{ArgumentPolicy, ReloadMode, SchemaPolicy, ToolLists};

use super::*;
use crate::args::http::Protocols;
use crate::args::options::{Endpoint, Source, StdioOptions};

fn read(line: &str) -> Result<Parsed, Failure> {
    parse(std::iter::once("pmcp").chain(line.split_whitespace()).map(OsString::from))
}

fn options(line: &str) -> Options {
    // The manifest is a file that exists wherever the tests run.
    match read(&line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))) {
        Ok(Parsed::Serve(options)) => *options,
        Ok(other) => panic!("{line}: {other:?}"),
        Err(failure) => panic!("{line}: {failure}"),
    }
}

#[test]
fn flags_stand_anywhere_and_take_their_value_either_way() {
    for line in [
        "dev FILE --call-timeout 90s --hot-reload swap",
        "dev --call-timeout 90s --hot-reload swap FILE",
        "dev --call-timeout=90s FILE --hot-reload=swap",
    ] {
        let options = options(line);
        let mode = ReloadMode::from(options.tool.hot_reload);
        assert_eq!((options.tool.limits.call_timeout, mode), (Duration::from_secs(90), ReloadMode::Swap), "{line}");
        assert!(matches!(options.source, Source::File { watch: true, .. }));
    }
    assert!(matches!(options("run FILE").source, Source::File { watch: false, .. }));
}

#[test]
fn servers_stand_in_for_a_tool_file() {
    for (line, names) in [
        ("run -- npx -y some-server --transport http -1", "npx"),
        ("run --upstream https://example.com/mcp --header A:b", "https://example.com/mcp"),
        ("run --transport http -- server", "server"),
    ] {
        let Source::Servers(servers) = options(line).source else { panic!("{line}: no servers") };
        assert_eq!(servers.names(), names);
    }
    assert!(matches!(options("run --transport http -- server").endpoint, Endpoint::Http(_)));
}

#[test]
fn a_command_is_watched_with_the_limits_of_a_tool_file() {
    let servers = |line: &str| match options(line).source {
        Source::Servers(servers) => servers,
        other => panic!("{line}: {other:?}"),
    };
    let plain = servers("dev -- uv run server.py --port 1");
    assert_eq!((plain.names().as_str(), plain.watches.len(), plain.limits.max_retiring), ("uv", 1, 4));
    let line = "dev --poll 1s --max-retiring 2 --call-timeout 9s --watch src --watch Cargo.toml -- cargo run";
    let chosen = servers(line);
    assert_eq!((chosen.limits.max_retiring, chosen.limits.timeout), (2, Duration::from_secs(9)));
    let polls: Vec<_> = chosen.watches.iter().map(|watch| watch.poll).collect();
    assert_eq!(polls, [Some(Duration::from_secs(1)); 2]);
    assert!(servers("run -- server").watches.is_empty());
}

#[test]
fn arguments_are_validated_as_asked() {
    for (word, policy) in
        [("off", ArgumentPolicy::Off), ("warn", ArgumentPolicy::Warn), ("reject", ArgumentPolicy::Reject)]
    {
        let options = options(&format!("run FILE --validate-args {word}"));
        assert_eq!(options.tool.validate_args.map(ArgumentPolicy::from), Some(policy));
    }
}

#[test]
fn clients_are_pinged_only_on_request() {
    let interval = |flags: &str| options(&format!("run FILE {flags}")).tool.limits.ping_interval();
    assert_eq!((interval(""), interval("--ping-interval 0s")), (None, None));
    assert_eq!(interval("--ping-interval 30s"), Some(Duration::from_secs(30)));
}

#[test]
fn whose_list_a_tool_changes_can_be_chosen() {
    assert_eq!(ToolLists::from(options("run FILE --tool-list shared").tool.tool_list), ToolLists::Shared);
    assert_eq!(ToolLists::from(options("dev FILE --tool-list session").tool.tool_list), ToolLists::PerSession);
}

#[test]
fn defaults_are_the_documented_ones() {
    let options = options("run FILE --call-timeout 0");
    assert_eq!(options.tool.limits.call_timeout, Duration::from_secs(300));
    assert_eq!(options.tool.limits.drain_timeout, Duration::from_secs(5));
    assert_eq!(options.tool.limits.queue_timeout, Duration::from_secs(900));
    assert_eq!((options.tool.limits.max_frame, options.tool.limits.max_result), (64 << 20, 256 << 20));
    let (mode, schemas) = (options.tool.hot_reload.into(), options.tool.output_schema.into());
    assert_eq!((mode, schemas), (ReloadMode::Graceful, SchemaPolicy::Proven));
    assert_eq!(ToolLists::from(options.tool.tool_list), ToolLists::PerSession);
    assert!(options.tool.validate_args.is_none(), "it depends on the tool");
    assert_eq!(options.tool.limits.max_concurrent_calls, None);
    assert_eq!((options.tool.limits.max_pending, options.tool.limits.max_retiring), (1024, 4));
    assert!(
        matches!(options.endpoint, Endpoint::Stdio(StdioOptions { max_line, idle }) if max_line == 64 << 20 && idle.is_empty())
    );
}

#[test]
fn the_messages_of_a_host_are_bounded_as_requested() {
    let options = options("run FILE --max-line 2K --max-pending 7");
    assert_eq!(options.tool.limits.max_pending, 7);
    assert!(matches!(options.endpoint, Endpoint::Stdio(StdioOptions { max_line: 2048, .. })));
}

#[test]
fn how_many_earlier_versions_finish_their_calls_can_be_chosen() {
    assert_eq!(options("dev FILE --max-retiring 1").tool.limits.max_retiring, 1);
}

#[test]
fn a_secret_that_is_empty_is_told_from_one_that_is_not_there() {
    for (value, why) in [(None, "is not set"), (Some(""), "is empty")] {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let line = format!("pmcp run {file} --transport http --auth token:hunter2");
        let Verb::Run(serve) = Cli::try_parse_from(line.split(' ')).unwrap().command else { panic!("no run") };
        let failure =
            serve.serve.http.options(Protocols::Current, |_| value.map(str::to_owned)).unwrap_err().to_string();
        assert!(failure.contains(&format!("--auth token:… {why}")) && !failure.contains("hunter2"), "{failure}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn mistakes_are_named() {
    for (line, text) in [
        ("dev", "missing file argument"),
        ("dev --call-timeout 1s", "missing file argument"),
        ("dev nothing.py", "file not found: nothing.py"),
        ("dev http://u:p@a/mcp?k=v", "named by --upstream, as in: pmcp run --upstream http://a/mcp"),
        ("dev src", "is a directory"),
        ("dev FILE --nonsense", "unknown flag \"--nonsense\""),
        ("dev FILE --call-timout 1s", "did you mean --call-timeout?"),
        ("dev FILE other", "unexpected argument \"other\""),
        ("dev FILE --call-timeout", "flag \"--call-timeout\" needs a value"),
        ("dev FILE --call-timeout soon", "invalid --call-timeout \"soon\": expected a duration"),
        ("dev FILE --hot-reload warm", "invalid --hot-reload \"warm\": must be one of graceful, swap, immediate"),
        ("dev FILE --log-level loud", "must be one of debug, info, warn, error"),
        (
            "dev FILE --transport pigeon",
            "invalid --transport \"pigeon\": must be one of stdio, http, sse, grpc, ws, tcp",
        ),
        ("dev FILE --auth hunter2", "invalid --auth: expected scheme:ENV_VAR (e.g. token:MY_TOKEN)"),
        ("run", "missing file argument"),
        ("schema", "missing command\n"),
        ("schema nope", "unknown command \"nope\"\nusage: pmcp schema <COMMAND>"),
        ("schema to-proto FILE", "missing --out <DIR>\nusage: pmcp schema to-proto"),
        ("schema resolve a", "invalid reference \"a\": a schema reference has the form"),
        ("call", "missing server"),
        ("list wss://ann:pass@a.example/mcp?key=secret", "invalid URL \"wss://a.example/mcp\": expected"),
        ("run FILE --transport grpc --session-idle 1m", "--session-idle has no effect on grpc"),
        ("run FILE --transport ws --session-idle 1m", "--session-idle has no effect on ws"),
        ("run FILE --transport ws --grpc-reflection", "--grpc-reflection has no effect on ws"),
        ("list gopher://a", "unsupported scheme \"gopher\": use http, https, proto, protos, grpc, grpcs, ws or wss"),
        ("run FILE -- server", "name either a tool file or servers, not both"),
        ("dev FILE -- server", "name either a tool file or a command after --, not both"),
        ("dev --hot-reload swap -- server", "--hot-reload is for tool files: it has no meaning for a command after --"),
        ("dev --socket x -- server", "--socket is for tool files"),
        ("run --workers 3 -- server", "--workers is for tool files: it has no meaning for a command after --"),
        ("run --upstream https://a --name x", "--name is for tool files: it has no meaning for the servers of"),
        ("dev --watch nowhere -- server", "invalid --watch \"nowhere\": it does not exist"),
        ("dev FILE --watch nowhere", "invalid --watch \"nowhere\": it does not exist"),
        ("run FILE --skills nowhere", "invalid --skills \"nowhere\": it is not a directory"),
        ("dev FILE --upstream-sessions client", "--upstream-sessions is for a command after --"),
        ("dev --upstream https://a", "unknown flag \"--upstream\""),
        ("run --upstream https://a -- server", "name one of --upstream, --config and a command after --"),
        ("run FILE --allow-tools a", "--allow-tools and --block-tools are for the tools of MCP servers"),
        ("dev FILE --block-tools a", "--allow-tools or --block-tools is for a command after --"),
        ("run --upstream https://a --allow-tools a --block-tools b", "--allow-tools"),
        ("run --upstream ftp://a", "invalid --upstream \"ftp://a\""),
        ("run FILE --website example.com", "invalid --website \"example.com\": expected a URL"),
        ("run --upstream https://a --header secret", "expected \"name: value\""),
        ("run --config FILE --client-id x", "--client-id is for --upstream; in --config"),
        ("run --upstream ws://a:1 --client-id x", "an OAuth client is for http and https"),
        ("run --upstream https://a --client-secret-env UNSET", "missing --client-id"),
        ("run --upstream https://a --client-id x --client-secret-env UNSET", "write its name there, not the secret"),
        ("run --upstream https://a --client-id x --client-issuer as", "invalid --client-issuer: \"as\" is not a URL"),
        ("run --config nothing.json", "invalid --config nothing.json"),
        ("run --config FILE", "invalid --config"),
        ("run --upstream https://a --upstream-sessions all", "must be one of client, shared"),
        ("dev FILE --auth token:", "invalid --auth: expected"),
        ("dev FILE --auth basic:X", "unknown scheme in --auth: must be 'token' or 'apikey'"),
        (
            "run FILE --transport http --auth token:UNSET_VARIABLE",
            "the environment variable named by --auth token:… is not set; write its name there",
        ),
        ("run FILE --transport http --auth token:PATH --no-auth", "--no-auth"),
        ("run FILE --transport http --tls-cert a.pem", "--tls-cert needs --tls-key"),
        ("run FILE --transport http --tls-key a.pem", "--tls-key needs --tls-cert"),
        ("run FILE --transport http --no-auth --oauth-issuer https://as", "--no-auth"),
        ("run FILE --transport http --oauth-scope use", "--oauth-scope needs --oauth-issuer"),
        (
            "run FILE --transport http --oauth-issuer as.example.com",
            "invalid --oauth-issuer: \"as.example.com\" is not a URL",
        ),
        ("run FILE --transport http --oauth-issuer http://as.example.com", "is not https"),
        ("run FILE --transport http --oauth-issuer https://as --oauth-jwks nothing.json", "invalid --oauth-jwks"),
        ("run FILE --transport http --oauth-issuer https://as --oauth-jwks FILE", "not a JSON Web Key Set"),
        ("run FILE --transport http --oauth-issuer https://as --oauth-jwks http://as.example.com/k", "is not https"),
        (
            "run FILE --transport http --oauth-issuer https://as --oauth-introspect https://as/i",
            "needs --oauth-client-id and --oauth-client-secret-env",
        ),
        ("run FILE --transport http --oauth-issuer https://as --oauth-client-id x", "need --oauth-introspect"),
        (
            "run FILE --transport http --oauth-issuer https://as --oauth-introspect https://as/i --oauth-client-id x \
             --oauth-client-secret-env UNSET_VARIABLE",
            "environment variable \"UNSET_VARIABLE\" is not set (required by --oauth-client-secret-env)",
        ),
        (
            "run FILE --transport http --oauth-issuer https://as --oauth-introspect https://as/i --oauth-jwks FILE",
            "use either",
        ),
        ("run FILE --transport http --oauth-issuer https://as --oauth-scope \"", "invalid --oauth-scope"),
        ("run FILE --transport http --oauth-issuer https://as --oauth-tool-scope deploy", "expected TOOL=SCOPE"),
        ("run FILE --transport http --oauth-issuer https://as --oauth-tool-scope =x", "expected TOOL=SCOPE"),
        ("run FILE --transport http --oauth-issuer https://as --oauth-tool-scope a=", "invalid --oauth-tool-scope"),
        ("run FILE --transport http --oauth-issuer https://as --host 0.0.0.0", "needs --public-url"),
        ("run FILE --transport http --metrics-addr []:9090", "expected HOST:PORT"),
        ("run FILE --transport http --metrics-addr 9090", "invalid --metrics-addr \"9090\": expected HOST:PORT"),
        ("run FILE --transport http --port 70000", "invalid --port \"70000\""),
        ("run FILE --transport http --public-url tools.example.com", "invalid --public-url"),
        ("run FILE --transport http --allow-origin https://a.example/x", "invalid --allow-origin"),
        ("run FILE --transport http --allow-origin null", "invalid --allow-origin"),
        ("run FILE --transport http --session-idle 0s", "use a duration such as 1h"),
        ("run FILE --transport http --sealing-key-file no.key", "invalid --sealing-key-file: no.key cannot be read: "),
        ("run FILE --transport grpc --sealing-key-file no.key", "--sealing-key-file has no effect on grpc"),
        ("run FILE --transport tcp --sealing-key-file no.key", "--sealing-key-file has no effect on tcp"),
        ("run FILE --transport http --store redis://a", "--store needs --sealing-key-file FILE"),
        ("run FILE --transport http --store http://a", "invalid --store: the URL of a store begins with redis://"),
        ("run FILE --transport http --store redis://a --sealing-key-file no.key", "invalid --sealing-key-file: "),
        ("run FILE --transport grpc --store redis://a", "--store has no effect on grpc"),
        ("dev FILE --call-timeout -1s", "invalid --call-timeout \"-1s\": expected a duration"),
        ("dev FILE --max-frame -1", "invalid --max-frame \"-1\": expected bytes"),
        ("run FILE --port -1", "invalid --port \"-1\""),
        ("dev FILE -1", "unknown flag \"-1\""),
        ("dev FILE --connect-timeout 0", "invalid --connect-timeout \"0\": no process could connect"),
        ("dev FILE --max-line 0", "expected a size"),
        ("dev FILE --max-pending 0", "invalid --max-pending \"0\""),
        ("run FILE --transport http --max-line 1M", "--max-line applies to stdio and tcp; over HTTP use --max-body"),
        ("run FILE --socket /no/such/dir/s.sock", "invalid --socket: there is no directory /no/such/dir"),
        ("dev FILE --max-result 0", "expected a size"),
        ("dev FILE --max-concurrent-calls 0", "invalid --max-concurrent-calls \"0\""),
        ("serve FILE", "unknown command \"serve\""),
        ("help serve", "unknown command \"serve\""),
    ] {
        let line = line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let failure = read(&line).expect_err(&line).to_string();
        assert!(failure.contains(text), "{line}: {failure}");
    }
}

#[test]
fn an_empty_argument_is_a_mistake_like_any_other() {
    assert!(parse(["pmcp", "dev", ""].map(OsString::from)).is_err());
    assert!(parse(["pmcp", ""].map(OsString::from)).is_err());
}

#[test]
fn help_and_version_are_printed() {
    for (line, text) in [
        ("help", "Exit codes"),
        ("--help", "Exit codes"),
        ("-h", "Usage"),
        ("help dev", "--hot-reload"),
        ("dev --help", "--hot-reload"),
        ("dev --help", "pmcp dev -- uv run server.py"),
        ("help dev", "--watch <PATH>"),
        ("run --help", "Ping idle clients"),
        ("version", concat!("pmcp version ", env!("CARGO_PKG_VERSION"))),
        ("--version", "pmcp version "),
        ("-v", "pmcp version "),
    ] {
        match read(line) {
            Ok(Parsed::Print(printed)) => assert!(printed.contains(text), "{line}: {printed}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

fn http(line: &str) -> http::HttpOptions {
    match options(line).endpoint {
        Endpoint::Http(options) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn http_is_for_this_machine_unless_something_else_is_said() {
    let options = http("run FILE --transport http");
    assert_eq!((options.host.as_str(), options.port, options.observe.health), ("localhost", 8080, false));
    let config = options.config;
    assert_eq!((config.limits.max_body, config.limits.max_sessions), (64 << 20, 10_000));
    assert_eq!((config.access.allowed_hosts.as_slice(), config.legacy_sse), (&["localhost".to_owned()][..], false));
    assert!(config.access.credentials.is_empty() && config.access.allowed_origins.is_empty());
    assert!(http("run FILE --transport sse").config.legacy_sse);
}

#[test]
fn network_flags_are_refused_on_stdio() {
    let idle = |flags: &str| match options(&format!("run FILE {flags}")).endpoint {
        Endpoint::Stdio(options) => options.idle,
        other => panic!("{flags}: {other:?}"),
    };
    assert!(idle("").is_empty());
    assert_eq!(idle("--auth token:WHATEVER --host 0.0.0.0 --port 1"), ["--host", "--port", "--auth"]);
    assert_eq!(idle("--transport stdio --port=8080"), ["--port"], "also with the value that it has anyway");
    // Every flag is looked at, so that one which comes later cannot be forgotten.
    let mut seen = Vec::new();
    let grammar = Grammar::new(Cli::command).whole();
    for flag in grammar.find_subcommand("run").unwrap().get_arguments() {
        let name = flag.get_long().map(|name| format!("--{name}")).unwrap_or_default();
        let is_of_network = flag.get_help_heading().is_some_and(|heading| heading.contains("HTTP"));
        if !is_of_network || ["--host", "--port", "--auth"].contains(&name.as_str()) {
            continue;
        }
        let value = match name.as_str() {
            "--max-body" => " 1M",
            "--max-sessions" => " 5",
            "--session-idle" | "--drain-delay" => " 1m",
            "--trusted-proxy" => " 10.0.0.0/8",
            "--metrics-addr" => " localhost:9090",
            _ if flag.get_action().takes_values() => " x",
            _ => "",
        };
        for verb in ["dev", "run"] {
            let line = format!("{verb} FILE {name}{value}");
            let line = line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
            let failure = read(&line).expect_err(&line).to_string();
            assert!(failure.contains(&name) && failure.contains("add --transport http"), "{line}: {failure}");
        }
        seen.push(name);
    }
    for name in ["--no-auth", "--allow-origin", "--tls-cert", "--insecure-plaintext", "--max-body", "--oauth-scope"] {
        assert!(seen.iter().any(|flag| flag == name), "{name} is not among {seen:?}");
    }
}

#[test]
fn a_public_url_allows_its_name_and_its_pages() {
    let config =
        http("run FILE --transport http --public-url https://tools.example.com:8443/mcp --auth token:PATH").config;
    assert!(config.access.allowed_hosts.contains(&"tools.example.com:8443".to_owned()));
    assert_eq!(config.access.allowed_origins, ["https://tools.example.com:8443"]);
    assert_eq!(config.access.credentials.len(), 1);
    let everywhere = http("run FILE --transport http --host 0.0.0.0").config;
    assert!(everywhere.access.allowed_hosts.is_empty());
    for address in ["::1", "[::1]"] {
        let options = http(&format!("run FILE --transport http --host {address}"));
        assert_eq!(
            (options.host.as_str(), options.config.access.allowed_hosts.as_slice()),
            ("::1", &["[::1]".to_owned()][..])
        );
    }
    assert!(http("run FILE --transport http --host [::]").config.access.allowed_hosts.is_empty());
}

#[test]
fn public_addresses_need_authentication_and_encryption() {
    let permit = |flags: &str, address: &str| {
        let options = http(&format!("run FILE --transport http {flags}"));
        options.permit(&[address.parse().unwrap()]).map_err(|failure| failure.to_string())
    };
    assert_eq!(permit("", "127.0.0.1:1"), Ok(()));
    assert_eq!(permit("", "[::1]:1"), Ok(()));
    for address in ["0.0.0.0:1", "192.168.1.5:1", "[::]:1", "[::ffff:192.168.1.5]:1"] {
        assert!(permit("", address).unwrap_err().contains("add --auth token:ENV_VAR"));
        assert!(permit("--no-auth", address).unwrap_err().contains("--insecure-plaintext"));
        assert!(permit("--insecure-plaintext", address).unwrap_err().contains("--auth"));
        assert_eq!(permit("--insecure-plaintext --no-auth", address), Ok(()));
        assert_eq!(permit("--insecure-plaintext --auth apikey:PATH", address), Ok(()));
        let oauth = "--insecure-plaintext --public-url https://x.example.com --oauth-issuer https://as";
        assert_eq!(permit(oauth, address), Ok(()));
        assert!(permit("--tls-cert a.pem --tls-key b.pem", address).unwrap_err().contains("--auth"));
        assert_eq!(permit("--tls-cert a.pem --tls-key b.pem --no-auth", address), Ok(()));
    }
}

#[test]
fn figures_beyond_this_machine_take_a_decision_too() {
    let permit = |flags: &str, address: &str| {
        let options = http(&format!("run FILE --transport http --metrics-addr localhost:9090 {flags}"));
        options.permit_metrics(&[address.parse().unwrap()]).map_err(|failure| failure.to_string())
    };
    for address in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert_eq!(permit("", address), Ok(()));
    }
    for address in ["0.0.0.0:1", "192.168.1.5:1", "[::]:1"] {
        // Neither secrets nor certificates protect what is shown there.
        for flags in ["", "--no-auth", "--auth apikey:PATH", "--tls-cert a.pem --tls-key b.pem"] {
            assert!(permit(flags, address).unwrap_err().contains("--insecure-plaintext"), "{flags}");
        }
        assert_eq!(permit("--insecure-plaintext", address), Ok(()));
    }
    let place =
        |text: &str| http(&format!("run FILE --transport http --metrics-addr {text}")).observe.metrics_addr.unwrap();
    for (text, host) in [("localhost:90", "localhost"), ("[::1]:90", "::1"), ("127.0.0.1:90", "127.0.0.1")] {
        assert_eq!(place(text), http::Place { host: host.to_owned(), port: 90 });
    }
}

#[test]
fn tcp_has_the_flags_that_do_not_need_headers() {
    let tcp = |flags: &str| match options(&format!("run FILE --transport tcp {flags}")).endpoint {
        Endpoint::Tcp(options) => *options,
        other => panic!("{flags}: {other:?}"),
    };
    let plain = tcp("");
    assert_eq!((plain.host.as_str(), plain.port, plain.max_connections), ("localhost", 8080, 10_000));
    assert_eq!((plain.max_line, plain.idle, plain.tokens.is_some()), (64 << 20, Duration::from_secs(3600), false));
    let chosen = tcp("--auth token:PATH --port 0 --max-sessions 3 --session-idle 1m --max-line 1K");
    assert_eq!((chosen.port, chosen.max_connections, chosen.idle), (0, 3, Duration::from_secs(60)));
    assert_eq!((chosen.max_line, chosen.tokens.is_some()), (1024, true));
    for (flags, text) in [
        ("--auth apikey:PATH", "there are no headers on tcp"),
        ("--auth token:UNSET_VARIABLE", "is not set"),
        ("--max-body 1M", "--max-body has no effect on tcp: it is for --transport http"),
        ("--oauth-scope use", "--oauth-scope needs --oauth-issuer"),
        ("--oauth-issuer https://as --host 0.0.0.0", "--oauth-issuer with --host 0.0.0.0 needs --public-url"),
        ("--public-url https://a", "--public-url has an effect on tcp with --oauth-issuer only"),
        ("--health", "--health has no effect on tcp"),
        ("--tls-cert a.pem", "--tls-cert needs --tls-key"),
    ] {
        let line = format!("run FILE --transport tcp {flags}");
        let line = line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let failure = read(&line).expect_err(&line).to_string();
        assert!(failure.contains(text), "{line}: {failure}");
    }
    let permit = |flags: &str| tcp(flags).permit(&["192.168.1.5:1".parse().unwrap()]).map_err(|why| why.to_string());
    assert!(
        permit("")
            .unwrap_err()
            .contains("--oauth-issuer URL for many users, --tls-client-ca for certificates, or --no-auth")
    );
    assert!(permit("--oauth-issuer https://as").unwrap_err().contains("--insecure-plaintext"));
    assert!(permit("--auth token:PATH").unwrap_err().contains("--insecure-plaintext"));
    assert_eq!(permit("--auth token:PATH --tls-cert a.pem --tls-key b.pem"), Ok(()));
    assert_eq!(permit("--no-auth --insecure-plaintext"), Ok(()));
    assert_eq!(tcp("").permit(&["127.0.0.1:1".parse().unwrap()]).map_err(|why| why.to_string()), Ok(()));
}
