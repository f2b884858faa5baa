//! Files with servers, and what is read from them.

use super::*;

fn parsed(text: &str) -> Result<Vec<Entry>, String> {
    parse(text, &|name| (name == "TOKEN").then(|| "secret".into())).map(|(entries, _)| entries)
}

fn command(text: &str) -> StdioCommand {
    let entries = parsed(&format!(r#"{{"mcpServers":{{"a":{text}}}}}"#)).unwrap();
    match &entries[0].location {
        Location::Command(command) => command.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

fn of_url(text: &str) -> (String, Vec<(String, String)>) {
    let entries = parsed(&format!(r#"{{"mcpServers":{{"a":{text}}}}}"#)).unwrap();
    match &entries[0].location {
        Location::Url { url, headers, .. } => (url.clone(), headers.clone()),
        other => panic!("{text}: {other:?}"),
    }
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn members_that_are_null_count_as_absent() {
    let nulls = r#""type":null,"args":null,"env":null,"cwd":null,"url":null,"serverUrl":null,"headers":null"#;
    let flags = r#""disabled":null,"enabled":null,"isActive":null"#;
    let plain = command(r#"{"command":"x"}"#);
    assert_eq!(command(&format!(r#"{{"command":"x",{nulls},{flags}}}"#)), plain);
    let command = command(r#"{"command":"x","env":{"A":null,"B":"b"}}"#);
    assert_eq!(command.environment, [pair("B", "b")]);
    let web = of_url(r#"{"command":null,"url":"http://a/","serverUrl":null,"headers":{"X":null,"Y":"y"}}"#);
    assert_eq!(web, ("http://a/".to_owned(), vec![pair("Y", "y")]));
    for text in [
        r#"{"mcpServers":null,"servers":{"a":{"command":"x"}}}"#,
        r#"{"mcpServers":{"b":null,"a":{"command":"x"}},"servers":null}"#,
    ] {
        let entries = parsed(text).unwrap();
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a"], "{text}");
    }
}

#[test]
fn comments_and_commas_after_the_last_member_are_skipped() {
    let entries = parsed("{ // mine\n \"servers\": { /* a */ \"a\": {\"url\": \"http://a//b\",},\n },\n}").unwrap();
    let url = Location::Url { url: "http://a//b".into(), headers: vec![], client: None };
    assert_eq!(entries, [Entry { name: "a".into(), location: url }]);
}

#[test]
fn numbers_and_booleans_become_their_text() {
    let command = command(r#"{"command":"x","args":["-p",8080,1.50,true],"env":{"A":1e3,"B":false}}"#);
    assert_eq!(command.arguments, ["-p", "8080", "1.50", "true"].map(OsString::from));
    assert_eq!(command.environment, [pair("A", "1e3"), pair("B", "false")]);
    let (_, headers) = of_url(r#"{"url":"http://a/","headers":{"X-N":12345678901234567890123}}"#);
    assert_eq!(headers, [pair("X-N", "12345678901234567890123")]);
}

#[test]
fn servers_that_are_off_are_left_out() {
    for flag in [r#""disabled":true"#, r#""enabled":false"#, r#""isActive":false"#] {
        let entries = parsed(&format!(r#"{{"mcpServers":{{"a":{{"command":"x",{flag}}}}}}}"#)).unwrap();
        assert!(entries.is_empty(), "{flag}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"mcpServers":{"a":{"command":"x","disabled":true}}}"#).unwrap();
    let refused = read(file.path(), &|_| None).unwrap_err().to_string();
    assert!(refused.ends_with("all servers in it are disabled (1): enable one of them"), "{refused}");
    command(r#"{"command":"x","disabled":false,"enabled":true,"isActive":true}"#);
}

#[test]
fn a_url_has_one_of_several_names() {
    for name in ["url", "serverUrl", "httpUrl"] {
        assert_eq!(of_url(&format!(r#"{{"{name}":"http://a/"}}"#)).0, "http://a/");
    }
}

#[test]
fn only_environment_variables_are_filled_in() {
    let expand = |text: &str| expand(text, &|name| (name == "TOKEN").then(|| "secret".into()));
    for (text, filled) in [
        ("${TOKEN}-${env:TOKEN}", "secret-secret"),
        ("${A:-http://x:1}${env:A:-b}", "http://x:1b"),
        ("${workspaceFolder:-.}", "."),
        ("$TOKEN ${", "$TOKEN ${"),
    ] {
        assert_eq!(expand(text).as_deref(), Ok(filled), "{text}");
    }
    for (text, why) in [
        ("${input:key}", "${input:key} cannot be filled in"),
        ("${input:key:-x}", "${input:key:-x} cannot be filled in"),
        ("a/${workspaceFolder}", "${workspaceFolder} cannot be filled in"),
        ("${workspaceFolder:one}", "${workspaceFolder:one} cannot be filled in"),
        ("${env:A}", "the environment variable A is not set"),
        ("${A}", "the environment variable A is not set"),
    ] {
        let error = expand(text).unwrap_err();
        assert!(error.starts_with(why), "{text}: {error}");
    }
}

#[test]
fn the_file_has_the_format_of_hosts() {
    let entries = parsed(
        r#"{"mcpServers": {
            "my files": {"command": "npx", "args": ["-y", "files", "${HOME:-/root}"], "env": {"A": "${TOKEN}"}, "cwd": "/tmp"},
            "off": {"command": "x", "disabled": true},
            "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
        }, "other": 1}"#,
    );
    let entries = entries.unwrap();
    assert_eq!(entries.iter().map(Entry::prefix).collect::<Vec<_>>(), ["my_files_", "web_"]);
    let files = Location::Command(StdioCommand {
        program: "npx".into(),
        arguments: vec!["-y".into(), "files".into(), "/root".into()],
        environment: vec![("A".into(), "secret".into())],
        directory: Some("/tmp".into()),
        protocol: CommandProtocol::Json,
    });
    assert_eq!(entries[0].location, files);
    let headers = vec![("Authorization".into(), "Bearer secret".into())];
    let url = "https://example.com/mcp".into();
    assert_eq!(entries[1].location, Location::Url { url, headers, client: None });
}

#[test]
fn an_oauth_client_has_the_names_of_hosts() {
    let client = |members: &str| {
        let text = format!(r#"{{"mcpServers":{{"a":{{"url":"https://a.example",{members}}}}}}}"#);
        match parsed(&text).map(|mut entries| entries.remove(0).location) {
            Ok(Location::Url { client, .. }) => Ok(client),
            Ok(other) => panic!("{text}: {other:?}"),
            Err(why) => Err(why),
        }
    };
    let made = |secret: Option<&str>, issuer, port| {
        RegisteredClient::new("my-id", secret.map(str::to_owned), issuer, port).map(Some)
    };
    for none in [r#""oauth":false"#, r#""oauth":{}"#, r#""oauth":null,"oauthClientId":null"#] {
        assert_eq!(client(none), Ok(None), "{none}");
    }
    assert_eq!(client(r#""oauthClientId":"my-id""#), made(None, None, None));
    assert_eq!(client(r#""oauth":{"clientId":"my-id","callbackPort":81}"#), made(None, None, Some(81)));
    let all = r#""oauth":{"clientId":"my-id","clientSecret":"${TOKEN}","issuer":"https://as.example"}"#;
    assert_eq!(client(all), made(Some("secret"), Some("https://as.example"), None));
    assert!(!format!("{:?}", client(all)).contains("secret\""));
    assert!(client(r#""oauth":{"clientId":"a","issuer":"as"}"#).is_err_and(|why| why.contains("\"oauth\": ")));
}

#[test]
fn servers_of_proto_mcp_have_an_address_or_a_command() {
    let entries = parsed(
        r#"{"mcpServers": {
            "a": {"url": "proto://localhost:7000"},
            "b": {"url": "proto://localhost:7001", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "c": {"type": "proto-mcp", "command": "x"},
            "d": {"type": "stdio", "command": "x"}
        }}"#,
    );
    let entries = entries.unwrap();
    let proto = |port: u16, token: Option<&str>| {
        let server = Address::of(&format!("proto://localhost:{port}")).unwrap().unwrap();
        Location::Proto { server, token: token.map(str::to_owned) }
    };
    assert_eq!(entries[0].location, proto(7000, None));
    assert_eq!(entries[1].location, proto(7001, Some("secret")));
    let protocols = entries.iter().filter_map(|entry| match &entry.location {
        Location::Command(command) => Some(command.protocol),
        Location::Url { .. } | Location::Proto { .. } => None,
    });
    assert_eq!(protocols.collect::<Vec<_>>(), [CommandProtocol::Proto, CommandProtocol::Json]);
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    for (text, why) in [
        ("[]", "expected"),
        (r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}"#, "two servers have the name \"a\""),
        (r#"{"mcpServers":{"":{"command":"x"}}}"#, "a server has an empty name"),
        ("{}", "it has no object \"mcpServers\""),
        (r#"{"mcpServers":5}"#, "is not an object"),
        (r#"{"mcpServers":{"a":{}}}"#, "server \"a\": it needs either \"command\" or \"url\""),
        (r#"{"mcpServers":{"a":{"command":"x","url":"y"}}}"#, "either"),
        (r#"{"mcpServers":{"a":{"command":5}}}"#, "server \"a\": "),
        (r#"{"mcpServers":{"a":{"command":"x","args":[null]}}}"#, "server \"a\": expected a string"),
        (r#"{"mcpServers":{"a":{"command":"x","env":{"A":[1]}}}}"#, "server \"a\": expected a string"),
        (r#"{"mcpServers":{"a":{"url":"http://a","httpUrl":"http://b"}}}"#, "it has more than one of \"url\""),
        (r#"{"mcpServers":null}"#, "it has no object \"mcpServers\""),
        ("{ /* x", "line 1, column 3: this comment has no end"),
        (r#"{"mcpServers":{"a":{"command":"${MISSING}"}}}"#, "the environment variable MISSING is not set"),
        (r#"{"mcpServers":{"a":{"url":"ftp://x"}}}"#, "server \"a\": "),
        (r#"{"mcpServers":{"a":{"url":"proto://x"}}}"#, "server \"a\": expected proto://HOST:PORT"),
        (r#"{"mcpServers":{"a":{"url":"proto://x:1","headers":{"k":"v"}}}}"#, "invalid --header \"k\""),
    ] {
        let error = parsed(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}
