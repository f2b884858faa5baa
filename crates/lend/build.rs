//! Lists the files of the SDKs for `bundle.rs`, with a digest of them for the name of their folder.

#[cfg(feature = "bundled")]
mod build_modules;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build_modules.rs");
    #[cfg(feature = "bundled")]
    embed::write();
}

#[cfg(feature = "bundled")]
mod embed {
    use std::fmt::Write as _;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    use sha2::{Digest, Sha256};

    /// A file of a bundle: its path there, and its path here.
    type File = (String, PathBuf);

    pub(crate) fn write() {
        let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the crate"));
        // A copy of the folder inside the crate, if it was packaged, and otherwise the folder of the repository.
        let sdks = [own.join("sdk"), own.join("../../sdk")].into_iter().find(|folder| folder.is_dir());
        let sdks = sdks.expect("the SDKs are in sdk/ or ../../sdk/").canonicalize().expect("a folder has a path");

        let python = sdks.join("python/src/protomcp");
        let is_python = |path: &Path| path.extension().is_some_and(|end| end == "py" || end == "typed");
        let mut files = below(&python, "sdk/protomcp", &is_python);
        files.push(("lent/protomcp/__init__.py".into(), own.join("files/python/protomcp/__init__.py")));
        watch(&files);
        let mut source = bundle("PYTHON", "python", files);

        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
        let node = sdks.join("typescript");
        let mut files = vec![("modules/protomcp/package.json".into(), node.join("package.json"))];
        files.extend(
            ["register.mjs", "hooks.mjs", "import_map.json"]
                .map(|name| (name.into(), own.join("files/node").join(name))),
        );
        watch(&files);
        files.extend(joined(&node.join("src"), "modules/protomcp/src", &out));
        source.push_str(&bundle("NODE", "node", files));
        fs::write(out.join("bundled.rs"), source).expect("the list can be written");
    }

    /// Has cargo run this script again when a file changes. Not for a file that the script writes, which is always newer than
    /// the script's last run, so that each command of cargo would build the crate again.
    fn watch(files: &[File]) {
        for (_, path) in files {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }

    /// The modules of the SDK in JavaScript, joined into few files of `out`.
    fn joined(folder: &Path, name: &str, out: &Path) -> Vec<File> {
        let read = |path: &str| {
            let path = folder.join(path);
            println!("cargo:rerun-if-changed={}", path.display());
            fs::read_to_string(path).expect("a module of an SDK can be read")
        };
        let files = super::build_modules::join(["index.js", "testing.js"], &read);
        let write = |(path, text): (String, String)| {
            let file = out.join(&path);
            fs::write(&file, text).expect("a joined file can be written");
            (format!("{name}/{path}"), file)
        };
        files.into_iter().map(write).collect()
    }

    /// The files below `folder`, in a folder of the bundle. Cargo watches the files and not the folder, which has compiled ones as
    /// well: a new file comes with the edit of the one that uses it.
    fn below(folder: &Path, name: &str, is_part: &impl Fn(&Path) -> bool) -> Vec<File> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).expect("the folder of an SDK can be read") {
            let path = entry.expect("an entry can be read").path();
            let own = path.file_name().and_then(|own| own.to_str()).expect("names are UTF-8");
            let name = format!("{name}/{own}");
            if path.is_dir() && own != "__pycache__" {
                found.extend(below(&path, &name, is_part));
            } else if path.is_file() && is_part(&path) {
                found.push((name, path));
            }
        }
        found
    }

    /// The source of a constant.
    fn bundle(constant: &str, name: &str, mut files: Vec<File>) -> String {
        files.sort();
        let mut digest = Sha256::new();
        let mut list = String::new();
        for (name, path) in files {
            let bytes = fs::read(&path).expect("a file of an SDK can be read");
            digest.update((name.len() as u64).to_le_bytes());
            digest.update(&name);
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(&bytes);
            let path = path.to_str().expect("paths are UTF-8");
            writeln!(list, "    File {{ path: {name:?}, bytes: include_bytes!({path:?}) }},").expect("a string grows");
        }
        let digest = digest.finalize().iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let folder = format!("{name}-{digest}");
        format!("pub(crate) const {constant}: Bundle = Bundle {{ folder: {folder:?}, files: &[\n{list}] }};\n")
    }
}
