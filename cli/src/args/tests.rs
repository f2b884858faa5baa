//! Command lines and what is made of them.

use super::*;

fn read(line: &str) -> Result<Parsed, Failure> {
    parse(std::iter::once("pmcp").chain(line.split_whitespace()).map(OsString::from))
}

fn options(line: &str) -> Options {
    // The manifest is a file that exists wherever the tests run.
    match read(&line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))) {
        Ok(Parsed::Serve(options)) => *options,
        Ok(Parsed::Print(text)) => panic!("{line}: printed {text}"),
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
        assert_eq!((options.call_timeout, options.reload), (Duration::from_secs(90), ReloadMode::Swap), "{line}");
        assert!(options.watch);
    }
    assert!(!options("run FILE").watch);
}

#[test]
fn arguments_are_validated_as_asked() {
    for (word, policy) in
        [("off", ArgumentPolicy::Off), ("warn", ArgumentPolicy::Warn), ("reject", ArgumentPolicy::Reject)]
    {
        assert_eq!(options(&format!("run FILE --validate-args {word}")).arguments, policy);
    }
}

#[test]
fn defaults_are_the_documented_ones() {
    let options = options("run FILE --call-timeout 0");
    assert_eq!(options.call_timeout, Duration::from_secs(300));
    assert_eq!(options.drain_timeout, Duration::from_secs(5));
    assert_eq!((options.max_frame, options.max_result), (64 << 20, 256 << 20));
    assert_eq!((options.reload, options.output_schemas), (ReloadMode::Graceful, SchemaPolicy::Proven));
    assert_eq!(options.arguments, ArgumentPolicy::Warn);
    assert_eq!((options.transport, options.max_concurrent_calls), (Transport::Stdio, None));
}

#[test]
fn mistakes_are_named() {
    for (line, text) in [
        ("", "usage: pmcp"),
        ("dev", "missing file argument"),
        ("dev --call-timeout 1s", "missing file argument"),
        ("dev nothing.py", "file not found: nothing.py"),
        ("dev .", "is a directory"),
        ("dev FILE --nonsense", "unknown flag \"--nonsense\""),
        ("dev FILE --call-timout 1s", "did you mean --call-timeout?"),
        ("dev FILE other", "unexpected argument \"other\""),
        ("dev FILE --call-timeout", "flag \"--call-timeout\" needs a value"),
        ("dev FILE --call-timeout soon", "invalid --call-timeout \"soon\": expected a duration"),
        ("dev FILE --hot-reload warm", "invalid --hot-reload \"warm\": must be one of graceful, swap, immediate"),
        ("dev FILE --log-level loud", "must be one of debug, info, warn, error"),
        ("dev FILE --transport http", "invalid --transport \"http\": it is not supported yet; use stdio"),
        ("dev FILE --transport pigeon", "invalid --transport \"pigeon\": unknown transport; use stdio"),
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

#[test]
fn sizes_have_units() {
    for (text, bytes) in [("1", 1), ("10K", 10 << 10), ("64M", 64 << 20), ("2GiB", 2 << 30), ("7b", 7)] {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for text in ["", "K", "1X", "-1", "1.5M", "99999999999G"] {
        assert!(size(text).is_err(), "{text}");
    }
}
