//! Facts and their findings.

use super::*;

/// A change to healthy facts, with the part, the health, and words of the finding and of its fix.
type Row = (fn(&mut Facts), &'static str, Health, &'static str, &'static str);

fn facts() -> Facts {
    let python = Program {
        name: "python3".into(),
        is_found: true,
        version: Some("Python 3.11.2".into()),
        oldest: Some((3, 10)),
        variable: Some("PROTOMCP_PYTHON"),
    };
    Facts {
        file: Some("tools.py".into()),
        program: python,
        sdk: Some(Sdk::Found("0.3.1".into())),
        start: ready(2, Duration::from_millis(300), true),
        socket: socket_in("/run/user/1000/pmcp", None),
        port: Some((8080, None)),
        watches: Some((524_288, 3)),
        instances: Some(128),
        open_files: Some(1024),
        ..Facts::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is the value of a field")]
fn ready(tools: usize, took: Duration, calls_run: bool) -> Option<Start> {
    Some(Start::Ready { tools, took, calls_run })
}

#[expect(clippy::unnecessary_wraps, reason = "it is the value of a field")]
fn socket_in(directory: &str, why: Option<&str>) -> Option<Socket> {
    Some(Socket { directory: directory.into(), why: why.map(Into::into) })
}

#[track_caller]
fn check(rows: &[Row]) {
    for (change, part, health, found, fix) in rows {
        let mut facts = facts();
        change(&mut facts);
        let all = diagnose(&facts);
        let one = all.0.iter().find(|one| one.part == *part).unwrap();
        assert_eq!((one.health, all.is_well()), (*health, *health != Health::Bad), "{one:?}");
        assert!(one.found.contains(found) && one.fix.contains(fix), "{one:?}");
        assert!(all.to_text().contains("fix: ") && all.to_json().to_string().contains(part));
    }
}

#[test]
fn a_healthy_file_has_no_fix() {
    let all = diagnose(&facts());
    assert!(all.is_well() && all.0.iter().all(|one| one.health == Health::Good && one.fix.is_empty()), "{all:?}");
    assert_eq!(all.0.len(), 9);
    let text = all.to_text();
    assert!(text.starts_with("✓ file         tools.py\n✓ interpreter  python3, Python 3.11.2\n"), "{text}");
    let lent = diagnose(&Facts { sdk: Some(Sdk::Lent), start: ready(1, Duration::ZERO, false), ..facts() });
    assert!(lent.is_well() && lent.to_text().contains("lends its own") && lent.to_text().contains("called by pmcp"));
    let other = diagnose(&Facts { sdk: Some(Sdk::Other), ..facts() });
    assert!(other.is_well() && other.to_text().contains("an MCP server, which pmcp serves as a command"));
}

#[test]
fn each_fault_of_a_file_has_its_fix() {
    use Health::{Bad, Doubtful};
    check(&[
        (|facts| facts.access = Access::Missing, "file", Bad, "there is no tools.py", "absolute"),
        (|facts| facts.access = Access::Unreadable, "file", Bad, "cannot be read", "chmod u+r"),
        (|facts| facts.access = Access::Directory, "file", Bad, "tools.py is a directory", "name the tool file"),
        (|facts| facts.access = Access::NotExecutable, "file", Bad, "not executable", "chmod +x"),
        (|facts| facts.access = Access::CarriageReturn, "file", Bad, "carriage return", "sed -i"),
        (|facts| facts.start = Some(Start::Failed("exit status 3".into())), "start", Bad, "exit status 3", "pmcp run"),
        (|facts| facts.start = ready(0, Duration::ZERO, true), "start", Bad, "registers no tool", "declare tools"),
        (|facts| facts.start = ready(1, Duration::from_secs(5), true), "start", Doubtful, "1 tool after 5.0s", "later"),
    ]);
}

#[test]
fn each_fault_of_an_interpreter_has_its_fix() {
    use Health::Bad;
    let missing: fn(&mut Facts) = |facts| {
        facts.sdk = Some(Sdk::Missing { install: "pip install protomcp".into() });
        facts.start = None;
    };
    let old: fn(&mut Facts) = |facts| facts.program.version = Some("Python 3.9.18".into());
    check(&[
        (|facts| facts.program.is_found = false, "interpreter", Bad, "python3 was not found", "PROTOMCP_PYTHON"),
        (old, "interpreter", Bad, "python3 is Python 3.9.18", "3.10 or later"),
        (missing, "sdk", Bad, "finds no SDK", "pip install protomcp"),
    ]);
}

#[test]
fn each_fault_of_the_machine_has_its_fix() {
    use Health::{Bad, Doubtful};
    let denied: fn(&mut Facts) = |facts| facts.socket = socket_in("/run", Some("permission denied"));
    let long: fn(&mut Facts) = |facts| facts.socket = socket_in(&"x".repeat(80), None);
    check(&[
        (denied, "socket", Bad, "/run: permission denied", "XDG_RUNTIME_DIR"),
        (long, "socket", Bad, "too long", "shorter"),
        (|facts| facts.port = Some((80, Some("in use".into()))), "port", Bad, "80: in use", "--port"),
        (|facts| facts.watches = Some((100, 200)), "watches", Bad, "needs 200", "max_user_watches"),
        (|facts| facts.watches = Some((1000, 200)), "watches", Doubtful, "1000", "--poll"),
        (|facts| facts.instances = Some(4), "watchers", Doubtful, "4 programs", "max_user_instances"),
        (|facts| facts.open_files = Some(64), "open files", Doubtful, "at most 64", "ulimit"),
    ]);
}

fn configured(fault: Option<&str>) -> Configured {
    Configured {
        found: "Cursor starts \"tools\": pmcp dev /a/tools.py".into(),
        fault: fault.map(Into::into),
        fix: "pmcp install tools.py --client cursor".into(),
    }
}

#[test]
fn prints_and_hosts_have_their_fixes() {
    use Health::{Bad, Doubtful};
    check(&[
        (|facts| facts.printed = Some("hi".into()), "output", Doubtful, "starts: \"hi\"", "file=sys.stderr"),
        (
            |facts| facts.hosts = Some(vec![configured(Some("there is no pmcp"))]),
            "host",
            Bad,
            "no pmcp",
            "pmcp install",
        ),
    ]);
    let well = diagnose(&Facts { hosts: Some(vec![configured(None)]), ..facts() });
    assert!(well.is_well() && well.to_text().contains("Cursor starts \"tools\": pmcp dev /a/tools.py"), "{well:?}");
}

#[test]
fn a_machine_without_a_file_has_findings() {
    let all = diagnose(&Facts { file: None, hosts: Some(vec![configured(None)]), ..facts() });
    let parts: Vec<_> = all.0.iter().map(|one| one.part).collect();
    assert_eq!(parts, ["host", "socket", "port", "watches", "watchers", "open files"]);
}

#[test]
fn a_missing_file_is_not_run() {
    for access in [Access::Missing, Access::Directory] {
        let all = diagnose(&Facts { access, ..facts() });
        assert!(!all.0.iter().any(|one| ["interpreter", "sdk", "start"].contains(&one.part)), "{all:?}");
    }
}

#[test]
fn versions_are_read_in_every_spelling() {
    for (text, expected) in [
        ("Python 3.11.2", Some((3, 11))),
        ("v20.19.1", Some((20, 19))),
        ("go version go1.22 x", Some((1, 22))),
        ("x", None),
    ] {
        assert_eq!(numbers(text), expected);
    }
}
