//! Starts of processes, and reports of their ends.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use protomcp_supervisor::{Command, Event, Guardian, Process, SpawnError, Status, StopPolicy, Stream};
use protomcp_testing::until;

use crate::support::{
    Mark, both, expect_line, guarded, lines_of, patient, rest, run, shell, spawn, spawn_with, stat,
    wait_for_descriptors, watch_over, write_program,
};

#[tokio::test]
async fn exit_codes_and_signals_are_reported_as_they_were() {
    let table = [
        ("exit 0", Status::Code(0)),
        ("exit 1", Status::Code(1)),
        ("exit 255", Status::Code(255)),
        ("kill -KILL $$", Status::Signal(9)),
        ("kill -TERM $$", Status::Signal(15)),
        ("ulimit -c 0; kill -SEGV $$", Status::Signal(11)),
    ];
    for guardian in both() {
        for (script, status) in table {
            let (_, exit) = run(&shell(script).guardian(guardian.clone())).await;
            assert_eq!(exit.status, status, "{script} with {guardian:?}");
        }
    }
}

#[tokio::test]
async fn what_a_user_can_correct_has_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "not a program").unwrap();
    let orphaned = folder.path().join("orphaned");
    write_program(&orphaned, "#!/no/such/interpreter\n");
    let windows = folder.path().join("windows");
    write_program(&windows, "#! /bin/sh\r\n");
    let missing = folder.path().join("missing");

    for guardian in both() {
        let fail = async |command: Command| {
            Process::spawn(&command.guardian(guardian.clone()), StopPolicy::default()).await.unwrap_err()
        };
        let error = fail(Command::new("no-such-program-anywhere")).await;
        assert!(
            matches!(&error, SpawnError::NotFound { program } if program == "no-such-program-anywhere"),
            "{error:?}"
        );
        assert_eq!(error.to_string(), "program not found: no-such-program-anywhere");

        let error = fail(Command::new(&orphaned)).await;
        let text =
            format!("/no/such/interpreter, which the first line of {} names, does not exist", orphaned.display());
        assert_eq!(error.to_string(), text);

        let error = fail(Command::new(&windows)).await;
        assert!(error.to_string().ends_with("carriage return: save the file with line feeds alone"), "{error:?}");

        let error = fail(Command::new(folder.path())).await;
        assert!(matches!(error, SpawnError::IsDirectory { .. }), "{error:?}");

        let error = fail(Command::new(&plain)).await;
        assert!(matches!(error, SpawnError::PermissionDenied { .. }), "{error:?}");

        let error = fail(Command::new("true").current_dir(&missing)).await;
        assert!(matches!(&error, SpawnError::Directory { directory, .. } if *directory == missing), "{error:?}");

        let error = fail(Command::new("true").current_dir(&plain)).await;
        assert!(matches!(&error, SpawnError::Directory { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_guardian_that_is_none_is_an_error_and_leaves_nothing() {
    let mark = Mark::new();
    for guardian in ["/bin/true", "/bin/cat", "/no/such/guardian"] {
        let command = mark.on(shell("sleep 1000").guardian(Guardian::Program(guardian.into())));
        let error = Process::spawn(&command, StopPolicy::default()).await.unwrap_err();
        assert!(matches!(error, SpawnError::Guardian { .. }), "{guardian}: {error:?}");
    }
    mark.wait_until_gone();
}

#[tokio::test(start_paused = true)]
async fn an_impostor_that_neither_answers_nor_obeys_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let impostor = folder.path().join("impostor");
    write_program(&impostor, "#!/bin/sh\nexec sleep 1000\n");
    let mark = Mark::new();
    let command = mark.on(shell("exit 0").guardian(Guardian::Program(impostor)));
    let error = Process::spawn(&command, StopPolicy::default()).await.unwrap_err();
    assert!(matches!(error, SpawnError::Guardian { .. }), "{error:?}");
    mark.wait_until_gone();
}

#[tokio::test]
async fn a_command_that_no_system_takes_has_its_own_error() {
    for guardian in both() {
        let command = shell("exit 0").arg("x".repeat(8 * 1024 * 1024)).guardian(guardian);
        let error = Process::spawn(&command, StopPolicy::default()).await.unwrap_err();
        assert!(matches!(error, SpawnError::Other { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn without_a_word_from_main_there_is_no_guardian() {
    // This test program never called `run_if_requested`.
    let mark = Mark::new();
    let (process, mut events) = spawn(&mark.on(shell("echo up; sleep 1000"))).await;
    expect_line(&mut events, "up").await;
    assert_eq!(stat(process.pid()).unwrap()[1], std::process::id().to_string());
    process.kill();
    rest(&mut events).await;
}

#[tokio::test]
async fn arguments_environment_and_directory_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    for guardian in both() {
        let script = r#"printf '%s\n' "$@"; echo "$GREETING"; pwd; cat; [ "$HOME" ] && echo inherited"#;
        let command = shell(script)
            .args(["name", "--", "--cwd", "a b", "", "ü"])
            .env("GREETING", "hello")
            .current_dir(&folder)
            .guardian(guardian);
        let (events, exit) = run(&command).await;
        assert_eq!(exit.status, Status::Code(0));
        assert_eq!(
            lines_of(&events, Stream::Stdout),
            ["--", "--cwd", "a b", "", "ü", "hello", folder.to_str().unwrap(), "inherited"]
        );
    }
}

#[test]
fn arguments_environment_and_directory_reach_a_forked_guardian() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut bridge = std::process::Command::new(watch_over());
    bridge.args(["--prefork", "sh", "-c", r#"printf '%s\n' "$@"; echo "$GREETING$NOTIFY_SOCKET"; pwd; echo low >&2"#]);
    // A service manager gives the last variable to its own child alone.
    bridge.args(["name", "--", "--cwd", "a b", "", "ü"]).env("GREETING", "hello").env("NOTIFY_SOCKET", "/run/notify");
    let output = bridge.current_dir(&folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("stdout: ")).collect();
    assert_eq!(lines, ["--", "--cwd", "a b", "", "ü", "hello", folder.to_str().unwrap()], "{text}");
    assert!(text.contains("stderr: low\n"), "{text}");
}

#[tokio::test]
async fn a_cleared_environment_has_the_variables_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\necho \"$GREETING$CARGO_MANIFEST_DIR\"\n";
    write_program(&folder.path().join("tool"), script);
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there is a variable to inherit");
    for guardian in both() {
        let command = Command::new("tool").env_clear().env("GREETING", "hello").env("PATH", folder.path());
        let command = command.guardian(guardian);
        let (events, exit) = run(&command).await;
        assert_eq!(exit.status, Status::Code(0));
        assert_eq!(lines_of(&events, Stream::Stdout), ["hello"]);
    }
}

#[tokio::test]
async fn a_relative_program_is_found_in_the_directory_it_starts_in() {
    let folder = tempfile::tempdir().unwrap();
    write_program(&folder.path().join("tool"), "#!/bin/sh\necho found\n");
    for guardian in both() {
        let command = Command::new("./tool").current_dir(folder.path()).guardian(guardian);
        let (events, _) = run(&command).await;
        assert_eq!(lines_of(&events, Stream::Stdout), ["found"]);
    }
}

#[tokio::test]
async fn a_process_has_three_descriptors_whatever_the_bridge_has_open() {
    // One that every careless child would inherit.
    let leaky = rustix::io::dup(rustix::stdio::stdout()).unwrap();
    for guardian in both() {
        let mark = Mark::new();
        let command = mark.on(shell("echo up; exec sleep 1000").guardian(guardian));
        let (first, mut events) = spawn(&command).await;
        let (second, mut others) = spawn(&command).await;
        expect_line(&mut events, "up").await;
        expect_line(&mut others, "up").await;
        mark.wait_for("both are asleep", |bearers| {
            bearers.iter().filter(|(_, line)| line.starts_with("sleep")).count() == 2
        });
        for process in [&first, &second] {
            wait_for_descriptors(process.pid(), &[0, 1, 2]);
        }
        for guardian in mark.bearers_of("protomcp-guardian") {
            // The three standard ones, the socket and the signals.
            wait_for_descriptors(guardian, &[0, 1, 2, 3, 4]);
            // It lets go of them once the tool process has started, which may have written by then.
            let is_null =
                |number| fs::read_link(format!("/proc/{guardian}/fd/{number}")).unwrap() == Path::new("/dev/null");
            until("it holds no output of its tool process", || (0..3).all(is_null)).await;
        }
    }
    drop(leaky);
}

#[test]
fn a_process_gets_the_original_limit_of_open_files() {
    for options in
        [&["--raise-open-files"][..], &["--prefork", "--raise-open-files"], &["--no-guardian", "--raise-open-files"]]
    {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -Sn 200 && ulimit -Hn 300 && exec \"$@\"", "sh"]).arg(watch_over()).args(options);
        let output = command.args(["sh", "-c", "ulimit -Sn; ulimit -Hn"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines[0], lines[2], lines[3]), ("300 open files", "stdout: 200", "stdout: 300"), "{text}");
    }
}

#[tokio::test]
async fn a_guarded_process_leads_its_group_without_a_terminal() {
    let ours = stat(std::process::id()).unwrap();
    for guardian in both() {
        let (process, mut events) = spawn(&shell("echo up; sleep 1000").guardian(guardian.clone())).await;
        expect_line(&mut events, "up").await;
        let [_, parent, group, session, ..] = &stat(process.pid()).unwrap()[..] else { panic!() };
        assert_eq!(*group, process.pid().to_string());
        if guardian != Guardian::None {
            assert_eq!(session, parent, "the guardian leads the session");
            assert_ne!(*session, ours[3]);
            let name = fs::read_to_string(format!("/proc/{parent}/comm")).unwrap();
            assert_eq!(name.trim(), "protomcp-guardi");
        }
    }
}

#[tokio::test]
async fn signals_that_the_bridge_ignores_or_blocks_are_not_inherited() {
    for options in ["", "--prefork", "--no-guardian"] {
        let inner = r"grep -E '^Sig(Ign|Blk)' /proc/self/status";
        let script =
            format!("trap '' HUP INT TERM CHLD USR1; exec {} {options} sh -c \"{inner}\"", watch_over().display());
        let (events, exit) = run(&shell(&script)).await;
        let lines = lines_of(&events, Stream::Stdout).join("\n");
        assert_eq!(exit.status, Status::Code(0), "{lines}");
        for (_, mask) in lines.lines().filter_map(|line| line.strip_prefix("stdout: ")?.split_once('\t')) {
            // Signals 32 and 33 are the C library's own business, and it ignores them when it spawns.
            assert_eq!(u64::from_str_radix(mask, 16).unwrap() & !(0b11 << 31), 0, "{lines}");
        }
        assert_eq!(lines.matches("Sig").count(), 2, "{lines}");
    }
}

#[test]
fn standard_input_is_empty_whatever_the_bridge_reads() {
    for options in [&[][..], &["--prefork"], &["--no-guardian"]] {
        let mut bridge = std::process::Command::new(watch_over());
        bridge.args(options).args(["readlink", "/proc/self/fd/0"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let output = bridge.spawn().unwrap().wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("stdout: /dev/null\n"), "{text}");
    }
}

#[tokio::test]
async fn a_start_that_is_abandoned_leaves_nothing() {
    for guardian in both() {
        let mark = Mark::new();
        let command = mark.on(shell("sleep 1000").guardian(guardian));
        for _ in 0..5 {
            // Polled once: begun, and hardly ever finished.
            drop(tokio::time::timeout(std::time::Duration::ZERO, Process::spawn(&command, patient())).await);
        }
        mark.wait_until_gone();
    }
}

#[tokio::test]
async fn uptime_is_the_time_between_start_and_end() {
    for guardian in both() {
        let (_, exit) = run(&shell("sleep 0.2").guardian(guardian)).await;
        assert!((150..20_000).contains(&exit.uptime.as_millis()), "{:?}", exit.uptime);
    }
}

#[tokio::test]
async fn the_end_is_the_last_event_and_the_start_the_first() {
    let (process, mut events) = spawn_with(&shell("echo only").guardian(guarded()), patient()).await;
    let (all, exit) = rest(&mut events).await;
    assert_eq!(all, [Event::Line { stream: Stream::Stdout, text: "only".into() }]);
    assert_eq!(exit.to_string(), "exited with status 0");
    drop(process);
}
