//! The protobuf files, read by Buf's compiler, linter and check for breaking changes (`scripts/setup buf`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use protomcp_conformance::{peers, pmcp};

/// Runs `buf` in a folder.
fn buf(folder: &Path, args: &[&str]) -> Output {
    let platforms = fs::read_dir(peers().join("buf/node_modules/@bufbuild")).expect("please run scripts/setup buf");
    let mut programs = platforms.flatten().map(|platform| platform.path().join("bin/buf"));
    let program = programs.next().expect("the program of this platform");
    Command::new(program).args(args).current_dir(folder).env("BUF_CACHE_DIR", folder).output().expect("buf starts")
}

#[track_caller]
fn succeeds(output: &Output) {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{}{}", text[0], text[1]);
}

/// The protobuf files of this project, in a folder that may be changed.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto");
    fs::create_dir_all(folder.path().join("buf/mcp/v1")).expect("it can be created");
    for file in ["buf.yaml", "protomcp.proto", MCP] {
        fs::copy(from.join(file), folder.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    folder
}

const MCP: &str = "buf/mcp/v1/mcp.proto";

/// Version 1.0 of proto-mcp, as an image.
fn version_1_0(folder: &Path) -> PathBuf {
    let (fixtures, image) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/proto"), folder.join("version-1.0.binpb"));
    succeeds(&buf(&fixtures, &["build", ".", "-o", image.to_str().expect("a path in UTF-8")]));
    image
}

/// The envelope of the published Python SDK, as an image.
fn published(folder: &Path) -> PathBuf {
    const WRITE: &str = "
import sys
from google.protobuf import descriptor_pb2
from protomcp import protomcp_pb2
file = descriptor_pb2.FileDescriptorProto()
protomcp_pb2.DESCRIPTOR.CopyToProto(file)
open(sys.argv[1], 'wb').write(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
";
    let image = folder.join("published.binpb");
    let mut python = Command::new(peers().join("py/bin/python"));
    succeeds(&python.args(["-c", WRITE]).arg(&image).output().expect("Python starts"));
    image
}

fn compared(folder: &Path, file: &str, earlier: &Path) -> Output {
    buf(folder, &["breaking", ".", "--path", file, "--against", earlier.to_str().expect("a path in UTF-8")])
}

#[test]
fn the_protobuf_files_have_no_lint() {
    succeeds(&buf(sources().path(), &["lint", "."]));
}

#[test]
fn the_messages_of_version_1_0_do_not_change() {
    let sources = sources();
    let earlier = version_1_0(sources.path());
    succeeds(&compared(sources.path(), MCP, &earlier));

    let file = sources.path().join(MCP);
    let text = fs::read_to_string(&file).expect("text");
    let changed = text.replace("string cursor = 3;", "int32 cursor = 3;");
    assert_ne!(text, changed);
    fs::write(&file, changed).expect("it can be written");
    assert_eq!(compared(sources.path(), MCP, &earlier).status.code(), Some(100), "a change is found");
}

#[test]
fn the_envelope_of_the_published_sdk_does_not_change() {
    let sources = sources();
    succeeds(&compared(sources.path(), "protomcp.proto", &published(sources.path())));
}

#[test]
fn sets_of_either_compiler_give_the_same_json_schemas() {
    let sources = sources();
    let path = |name: &str| sources.path().join(name);
    succeeds(&buf(sources.path(), &["build", ".", "-o", "buf.binpb"]));
    let protoc = Command::new(std::env::var_os("PROTOC").unwrap_or_else(|| "protoc".into()))
        .args(["--include_imports", "--include_source_info", "--descriptor_set_out=protoc.binpb", MCP])
        .current_dir(sources.path())
        .output();
    succeeds(&protoc.expect("protoc starts"));
    for message in ["CallToolRequest", "CallToolResponse", "ErrorResponse", "InitializeRequest"] {
        let schema = |set: &str| {
            let name = format!("buf.mcp.v1.{message}");
            let to_json = Command::new(pmcp()).args(["schema", "to-json", "--message", &name]).arg(path(set)).output();
            let to_json = to_json.expect("pmcp starts");
            succeeds(&to_json);
            String::from_utf8(to_json.stdout).expect("text")
        };
        let ours = schema("buf.binpb");
        assert!(ours.contains("\"properties\""), "{ours}");
        assert_eq!(ours, schema("protoc.binpb"));
    }
}
