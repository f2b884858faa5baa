//! The paths of the programs: the one under test, the relay, and the peers that `scripts/setup` installs.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `pmcp` program: `PMCP_BIN`, or a fresh build next to this test.
///
/// # Panics
///
/// If it cannot be built.
pub fn pmcp() -> &'static Path {
    static PMCP: OnceLock<PathBuf> = OnceLock::new();
    PMCP.get_or_init(|| {
        if let Some(path) = env::var_os("PMCP_BIN") {
            return PathBuf::from(path);
        }
        // With all features, as the build of the whole workspace has made it.
        build(&["--package", "protomcp-cli", "--all-features", "--bin", "pmcp"]);
        build_folder().join("pmcp")
    })
}

/// An example of the bridge, freshly built.
///
/// # Panics
///
/// If it cannot be built.
pub fn example(name: &str) -> PathBuf {
    // With all features, the build of the whole workspace has already made it.
    build(&["--package", "protomcp-bridge", "--all-features", "--example", name]);
    build_folder().join("examples").join(name)
}

/// An example of the codec, freshly built.
///
/// # Panics
///
/// If it cannot be built.
pub fn codec_example(name: &str) -> PathBuf {
    build(&["--package", "protomcp-codec", "--all-features", "--example", name]);
    build_folder().join("examples").join(name)
}

/// An example of the Rust SDK, freshly built.
///
/// # Panics
///
/// If it cannot be built.
pub fn sdk_example(name: &str) -> PathBuf {
    build(&["--package", "protomcp-sdk", "--all-features", "--example", name]);
    build_folder().join("examples").join(name)
}

/// The program that `pmcp init --lang rust` writes, freshly built.
///
/// # Panics
///
/// If it cannot be built.
pub fn init_example() -> PathBuf {
    build(&["--package", "protomcp-conformance", "--all-features", "--example", "init_rust"]);
    build_folder().join("examples/init_rust")
}

/// Makes the packages that `scripts/setup` installs visible to the files of `sdk/typescript`.
///
/// # Panics
///
/// If they are not installed.
pub fn link_sdk_packages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace");
    let link = folder.join("sdk/typescript/node_modules");
    if !link.exists() {
        let packages = peers().join("sdk-typescript/node_modules");
        assert!(packages.exists(), "please run scripts/setup sdk-typescript first");
        // Another test may have made it in the meantime.
        drop(symlink(packages, link));
    }
}

/// Builds a part of the workspace with the profile of this test, unless `PMCP_PREBUILT` says that all of it is built.
fn build(what: &[&str]) {
    if env::var_os("PMCP_PREBUILT").is_some() {
        return;
    }
    let built = build_folder();
    let target = built.parent().expect("a profile's folder lies in the target folder");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--target-dir"]).arg(target).args(what);
    if built.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(root()).status().expect("cargo starts");
    assert!(status.success(), "{what:?} does not build");
}

/// The relay, which cargo builds together with this package's tests.
pub fn relay() -> PathBuf {
    build_folder().join("relay")
}

/// The server that ends at an exact byte, which cargo builds together with this package's tests.
pub fn cut_server() -> PathBuf {
    build_folder().join("cut_server")
}

/// The server for the official suite, which cargo builds together with this package's tests.
pub fn everything_server() -> PathBuf {
    build_folder().join("everything_server")
}

/// The tool process on the SDK for the official suite, which cargo builds together with this package's tests.
pub fn everything_tool() -> PathBuf {
    build_folder().join("everything_tool")
}

/// The client for the official suite, which cargo builds together with this package's tests.
pub fn everything_client() -> PathBuf {
    build_folder().join("everything_client")
}

/// The tool process without an SDK, which cargo builds together with this package's tests.
pub fn envelope_tools() -> PathBuf {
    build_folder().join("envelope_tools")
}

/// The tool process that follows its callers' instructions, which cargo builds together with this package's tests.
pub fn hostile_tools() -> PathBuf {
    build_folder().join("hostile_tools")
}

/// The folder that `scripts/setup` fills.
///
/// # Panics
///
/// If it has not run.
pub fn peers() -> PathBuf {
    let peers = root().join(".peers");
    assert!(peers.join("py").exists(), "please run scripts/setup first");
    peers
}

/// The folder for caches of `pmcp`, which all tests share: it keeps the SDKs that are lent.
pub(crate) fn caches() -> PathBuf {
    build_folder().join("test-caches")
}

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace")
}

/// The folder that holds this profile's programs; tests run from `deps` inside it.
pub(crate) fn build_folder() -> PathBuf {
    let test = env::current_exe().expect("a running program has a path");
    let folder = test.parent().expect("a program lies in a folder");
    if folder.ends_with("deps") { folder.parent().expect("deps lies in a folder") } else { folder }.to_path_buf()
}
