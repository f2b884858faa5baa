//! Tool files, and the commands that run them.

use super::*;

fn line(command: &Command) -> String {
    let arguments = command.arguments().iter().map(|argument| argument.to_string_lossy().into_owned());
    let mut words = vec![command.program().to_string_lossy().into_owned()];
    words.extend(arguments);
    words.join(" ")
}

fn launch(file: &ToolFile, variables: &[(&str, &str)], uv: bool) -> Launch {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
    let on_path = |program: &str| uv && program == "uv";
    file.launch_in(&Surroundings { variable: &variable, on_path: &on_path })
}

fn check(file: &ToolFile, variables: &[(&str, &str)], uv: bool, expected: &str) {
    assert_eq!(line(&launch(file, variables, uv).command), expected);
}

#[test]
fn the_extension_chooses_the_program() {
    for (file, expected) in [
        ("a/t.py", "python3 a/t.py"),
        ("t.ts", &format!("node --import {TYPES_ARE_READ} t.ts")),
        ("t.mts", &format!("node --import {TYPES_ARE_READ} t.mts")),
        ("t.cts", &format!("node --import {TYPES_ARE_READ} t.cts")),
        ("t.tsx", "npx --no --offline tsx t.tsx"),
        ("t.js", "node t.js"),
        ("t.mjs", "node t.mjs"),
        ("t.go", "go run t.go"),
        ("bin/server", "bin/server"),
        ("server", "./server"),
        ("t.exe", "./t.exe"),
    ] {
        check(&ToolFile::new(file), &[], false, expected);
    }
}

#[test]
fn a_second_command_follows_where_the_first_cannot_serve() {
    for (file, variables, expected) in [
        ("t.ts", &[][..], Some((Reason::TypesUnread, "npx --no --offline tsx t.ts"))),
        ("t.ts", &[("PROTOMCP_NODE", "bun")], None),
        ("t.tsx", &[], None),
        ("t.js", &[], None),
        ("server", &[], None),
    ] {
        let fallback = launch(&ToolFile::new(file), variables, false).fallback;
        let fallback = fallback.map(|fallback| (fallback.reason, line(&fallback.command)));
        assert_eq!(fallback.as_ref().map(|(reason, line)| (*reason, line.as_str())), expected, "{file}");
    }
    let python = launch(&ToolFile::new("t.py"), &[], false).fallback.unwrap();
    assert_eq!(python.reason, Reason::ToolsNotRun);
    assert!(line(&python.command).starts_with("python3 -c def start():") && line(&python.command).ends_with(" t.py"));
}

#[test]
fn a_server_with_another_sdk_has_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let command = |name: &str, text: &str, runtime: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let command = ToolFile::new(&path).runtime(runtime).server_command();
        command.map(|command| line(&command).replace(&path.display().to_string(), "FILE"))
    };
    let python = "from fastmcp import FastMCP\nFastMCP('x').run()\n";
    assert_eq!(command("t.py", python, "python3.13").as_deref(), Some("python3.13 FILE"));
    assert_eq!(command("t.PY", python, "python3").as_deref(), Some("python3 FILE"));
    assert_eq!(command("t.mjs", "import '@modelcontextprotocol/server';", "bun").as_deref(), Some("bun FILE"));
    assert_eq!(command("t.py", "from protomcp import tool\n", "python3"), None);
    assert_eq!(command("t.rb", python, "ruby"), None);
    assert!(ToolFile::new("/no/such/file.py").server_command().is_none());
    let types = ToolFile::new("t.ts");
    let last = line(&types.final_command(launch(&types, &[], false)));
    assert!(last.starts_with("node --import data:text/javascript,") && last.ends_with(" t.ts"), "{last}");
    assert!(last.contains("console.error(\"this Node does not read TypeScript"), "{last}");
}

#[test]
fn the_tsx_of_a_project_reads_its_files() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(project.path().join("a b")).unwrap();
    std::fs::create_dir_all(project.path().join("node_modules/tsx/dist")).unwrap();
    std::fs::write(project.path().join("node_modules/tsx/dist/loader.mjs"), "").unwrap();
    let loader = file_url(&project.path().join("node_modules/tsx/dist/loader.mjs"));
    for name in ["a b/t.ts", "t.tsx"] {
        let file = project.path().join(name);
        check(&ToolFile::new(&file), &[], false, &format!("node --import {loader} {}", file.display()));
        check(&ToolFile::new(&file), &[("PROTOMCP_NODE", "bun")], false, &format!("bun {}", file.display()));
    }
}

#[test]
fn uv_runs_files_with_script_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.py");
    std::fs::write(&file, "# /// script\n# dependencies = []\n# ///\n").unwrap();
    let (file, shown) = (ToolFile::new(&file), file.display());
    check(&file, &[], true, &format!("uv run --script {shown}"));
    check(&file, &[("PROTOMCP_PYTHON", "py")], true, &format!("py {shown}"));
    check(&file.clone().runtime("py"), &[], true, &format!("py {shown}"));
    check(&file, &[], false, &format!("python3 {shown}"));
    let warnings = |uv| launch(&file, &[], uv).warnings;
    assert!(warnings(true).is_empty());
    assert!(warnings(false)[0].contains("uv is not on the path"));
    let bootstrap = line(&launch(&file, &[], true).fallback.unwrap().command);
    let packages = format!("uv run --no-project --with-requirements {shown} python -c ");
    assert!(bootstrap.starts_with(&packages), "{bootstrap}");
}

#[test]
fn a_script_that_only_declares_is_started_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.py");
    std::fs::write(&file, "# /// script\n# requires-python = '>=3.11'\n# ///\nimport protomcp\n").unwrap();
    let launch = launch(&ToolFile::new(&file), &[], true);
    let packages = format!("uv run --no-project --python >=3.11 --with-requirements {} python -c ", file.display());
    assert!(line(&launch.command).starts_with(&packages), "{}", line(&launch.command));
    assert!(launch.fallback.is_none());
}

#[test]
fn a_file_that_only_declares_is_run_by_the_bootstrap() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.py");
    for (text, bootstrap) in [("import protomcp\n", true), ("import protomcp\nprotomcp.run()\n", false)] {
        std::fs::write(&file, text).unwrap();
        let launch = launch(&ToolFile::new(&file), &[], false);
        assert_eq!(line(&launch.command).starts_with("python3 -c "), bootstrap, "{text}");
        assert_eq!(launch.fallback.is_none(), bootstrap, "{text}");
    }
}

#[test]
fn interpreters_borrow_and_programs_do_not() {
    use protomcp_lend::SdkSource;
    let lender = Lender::new(SdkSource::Auto, None, None);
    let borrows = |file: ToolFile| !launch(&file.lend(lender.clone()), &[], false).lending.is_none();
    for (file, expected) in [("t.py", true), ("t.js", true), ("t.ts", true), ("t.go", false), ("server", false)] {
        assert_eq!(borrows(ToolFile::new(file)), expected, "{file}");
        assert!(launch(&ToolFile::new(file), &[], false).lending.is_none(), "nothing is lent without a lender");
    }
    assert!(borrows(ToolFile::new("t.js").runtime("bun")));
    assert!(borrows(ToolFile::new("t.js").runtime("deno")));
}

#[test]
fn variables_and_the_runtime_flag_override_it() {
    let variables = &[("PROTOMCP_PYTHON", "/opt/py"), ("PROTOMCP_NODE", "bun")];
    check(&ToolFile::new("t.py"), variables, true, "/opt/py t.py");
    check(&ToolFile::new("t.ts"), variables, false, "bun t.ts");
    check(&ToolFile::new("t.js"), variables, false, "bun t.js");
    let deno = &[("PROTOMCP_NODE", "/opt/deno")];
    check(&ToolFile::new("t.ts"), deno, false, "/opt/deno run --allow-all t.ts");
    check(&ToolFile::new("t.js").runtime("deno"), &[], false, "deno run --allow-all t.js");
    check(&ToolFile::new("t.py").runtime("pypy 3"), variables, true, "pypy 3 t.py");
    check(&ToolFile::new("t.rb").runtime("ruby"), &[], false, "ruby t.rb");
}

#[test]
fn the_environment_next_to_or_above_the_file_is_used() {
    let project = tempfile::tempdir().unwrap();
    let (linked, real) = (project.path().join("linked"), project.path().join("real"));
    std::fs::create_dir_all(real.join("in")).unwrap();
    std::fs::create_dir_all(real.join(".venv/bin")).unwrap();
    std::fs::create_dir_all(&linked).unwrap();
    for name in ["in/t.py", ".venv/pyvenv.cfg", ".venv/bin/python"] {
        std::fs::write(real.join(name), "").unwrap();
    }
    std::os::unix::fs::symlink(real.join("in/t.py"), linked.join("t.py")).unwrap();
    let python = real.canonicalize().unwrap().join(".venv/bin/python");
    for file in [real.canonicalize().unwrap().join("in/t.py"), linked.join("t.py")] {
        let (shown, file) = (file.display(), ToolFile::new(&file));
        check(&file, &[], false, &format!("{} {shown}", python.display()));
        check(&file, &[("VIRTUAL_ENV", "/active")], false, &format!("python3 {shown}"));
        check(&file, &[("PROTOMCP_PYTHON", "py")], false, &format!("py {shown}"));
        assert!(launch(&file, &[], false).note.is_some_and(|note| note.contains(".venv/bin/python runs ")));
    }
}

#[test]
fn uv_runs_python_inside_a_project() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(project.path().join("a/b")).unwrap();
    let file = project.path().join("a/b/t.py");
    check(&ToolFile::new(&file), &[], true, &format!("python3 {}", file.display()));
    std::fs::write(project.path().join("pyproject.toml"), "").unwrap();
    check(&ToolFile::new(&file), &[], true, &format!("uv run python {}", file.display()));
    check(&ToolFile::new(&file), &[], false, &format!("python3 {}", file.display()));
}

#[test]
fn a_cargo_project_runs_by_its_file_and_its_directory() {
    let project = tempfile::tempdir().unwrap();
    let manifest = project.path().join("Cargo.toml");
    std::fs::write(&manifest, "").unwrap();
    let expected = format!("cargo run --quiet --manifest-path {}", manifest.display());
    for path in [project.path().to_owned(), project.path().join("src/main.rs")] {
        let file = ToolFile::new(path);
        check(&file, &[], false, &expected);
        assert_eq!((file.is_runnable(), file.watch().root.as_path()), (true, project.path()));
    }
    assert!(!ToolFile::new(project.path().parent().unwrap()).is_runnable(), "a directory without a manifest");
}

#[test]
fn published_sdks_of_scripting_languages_get_one_call_at_a_time() {
    for (file, serial) in [("t.py", true), ("t.ts", true), ("t.js", true), ("t.rs", false), ("t", false)] {
        assert_eq!(ToolFile::new(file).launch().concurrency == 1, serial, "{file}");
    }
}
