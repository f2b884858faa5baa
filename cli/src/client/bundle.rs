//! `pmcp bundle`: a tool file and this program as one file that hosts install.

mod platform;
mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};

use futures_util::TryStreamExt;
use ignore::{DirEntry, WalkBuilder};
use protomcp_install::{Archive, ArchiveFile, BundleManifest, archive, registry_entry};
use sha2::{Digest, Sha256};

use crate::args::bundle::BundleOptions;
use crate::args::client::Target;
use crate::client::bundle::platform::system_of;
use crate::client::bundle::secrets::Secrets;
use crate::client::connection::Connection;
use crate::exit::{self, Failure};

/// The place of the program in a bundle, and in one for Windows.
const PROGRAM: &str = "server/pmcp";
const WINDOWS_PROGRAM: &str = "server/pmcp.exe";
/// The directory of the tool file in a bundle.
const TOOLS: &str = "server/tools";
/// The most files of a bundle, and the most bytes of them: a tool file in a home directory has all of it next to it.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: usize = 1 << 30;
/// The most files with secrets that a refusal names.
const MAX_NAMED: usize = 20;
/// Files next to a tool file that belong to it, whatever its language.
const COMPANIONS: [&str; 2] = ["pmcp.toml", "package.json"];
/// The files of a language, by the extensions of tool files.
const PYTHON: &[&str] = &["py", "pyi"];
const JAVASCRIPT: &[&str] = &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "json"];

/// Writes the bundle, and prints its size.
pub(super) async fn bundle(options: BundleOptions) -> Result<(), Failure> {
    let tools = tools(&options).await?;
    let name = options.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let count = tools.len();
    let counted = || format!("{count} {}, served by pmcp", if count == 1 { "tool" } else { "tools" });
    let program = program(&options)?;
    let os = system_of(&program).unwrap_or(std::env::consts::OS);
    let path = if os == "windows" { WINDOWS_PROGRAM } else { PROGRAM };
    let manifest = BundleManifest {
        name: options.name.clone(),
        version: options.version.clone(),
        description: options.description.clone().unwrap_or_else(counted),
        author: options.author.clone(),
        os: os.to_owned(),
        program: path.to_owned(),
        arguments: vec!["run".to_owned(), format!("${{__dirname}}/{TOOLS}/{name}")],
        settings: options.settings.clone(),
        tools,
    };
    let mut files = Files { secrets: rules(&options), ..Files::default() };
    files.add("manifest.json".to_owned(), manifest.json().into_bytes(), false)?;
    files.add(path.to_owned(), program, true)?;
    collect(&options, &mut files)?;
    files.check()?;
    let unpacked: BTreeMap<_, _> = files.all.iter().map(|(path, file)| (path.clone(), file.data.len())).collect();
    let packed = archive(files.all.into_values().collect()).map_err(|error| Failure::failed(error.to_string()))?;
    write(&options.output, &packed.bytes)?;
    let sha256 = Sha256::digest(&packed.bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    });
    let mut report = report(&options.output, &packed, &unpacked);
    writeln!(report, "sha256 {sha256}").expect("a string takes everything");
    if let Some((name, url)) = &options.registry {
        let path = options.output.with_file_name("server.json");
        write(&path, registry_entry(&manifest, name, url, &sha256).as_bytes())?;
        writeln!(report, "{} is for the public registry", path.display()).expect("a string takes everything");
    }
    exit::print(&report)
}

/// The `pmcp` of the bundle.
fn program(options: &BundleOptions) -> Result<Vec<u8>, Failure> {
    match &options.binary {
        Some(path) => load(path),
        None => load(&std::env::current_exe().map_err(|error| Failure::failed(format!("cannot find pmcp: {error}")))?),
    }
}

/// The names and descriptions of the tools; a file that does not start makes no bundle.
async fn tools(options: &BundleOptions) -> Result<Vec<(String, String)>, Failure> {
    let connection = Connection::open(Target::File(options.file.clone()), &options.server).await?;
    let listed: Result<Vec<_>, _> = connection.session.tools().try_collect().await;
    connection.close().await;
    let tools = listed.map_err(|error| Failure::failed(format!("cannot list tools: {error}")))?;
    Ok(tools.iter().map(|tool| (tool.name.to_string(), tool.description.clone().unwrap_or_default())).collect())
}

/// The rules for secrets: settings have values in this environment while a tool file is written.
fn rules(options: &BundleOptions) -> Secrets {
    let names = options.settings.iter().map(|setting| &setting.variable);
    let values = names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
    Secrets::new(&options.allowed_secrets, values)
}

/// The files of a bundle, by their places in it.
#[derive(Default)]
struct Files {
    all: BTreeMap<String, ArchiveFile>,
    bytes: usize,
    secrets: Secrets,
    /// The files that are secrets, each with its reason.
    refused: BTreeSet<String>,
}

impl Files {
    fn add(&mut self, path: String, data: Vec<u8>, is_executable: bool) -> Result<(), Failure> {
        self.bytes += data.len();
        self.all.insert(path.clone(), ArchiveFile { path, data, is_executable });
        if self.all.len() > MAX_FILES || self.bytes > MAX_BYTES {
            return Err(Failure::failed(format!(
                "more than {MAX_FILES} files, or 1 GiB, belong to the tool file; put it into its own directory"
            )));
        }
        Ok(())
    }

    fn read(&mut self, place: String, path: &Path, is_executable: bool) -> Result<(), Failure> {
        let data = load(path)?;
        if let Err(reason) = self.secrets.check(path, &data) {
            self.refused.insert(reason);
        }
        self.add(place, data, is_executable)
    }

    /// An error that names the files with secrets, if there are any.
    fn check(&self) -> Result<(), Failure> {
        if self.refused.is_empty() {
            return Ok(());
        }
        let mut text: Vec<_> = self.refused.iter().take(MAX_NAMED).cloned().collect();
        if let Some(more) = self.refused.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            text.push(format!("and {more} more files with secrets"));
        }
        Err(Failure::usage(text.join("\n")))
    }

    /// All files below a directory that are chosen.
    fn read_tree(&mut self, walk: &WalkBuilder, root: &Path, chosen: impl Fn(&Path) -> bool) -> Result<(), Failure> {
        for entry in walk.build() {
            let entry = entry.map_err(|error| Failure::usage(format!("cannot read files: {error}")))?;
            if entry.file_type().is_some_and(|kind| kind.is_file()) && chosen(entry.path()) {
                self.read(place(root, entry.path()), entry.path(), is_program(entry.path()))?;
            }
        }
        Ok(())
    }
}

fn load(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// The tool file and the files that belong to it.
fn collect(options: &BundleOptions, files: &mut Files) -> Result<(), Failure> {
    let file = &options.file;
    let root = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let extension = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    let family = [PYTHON, JAVASCRIPT].into_iter().find(|family| family.contains(&extension)).unwrap_or_default();
    if !family.is_empty() {
        let is_source =
            |path: &Path| path.extension().and_then(OsStr::to_str).is_some_and(|extension| family.contains(&extension));
        let mut walk = WalkBuilder::new(root);
        walk.git_global(false).git_exclude(false).require_git(false).filter_entry(|entry| !is_generated(entry));
        files.read_tree(&walk, root, is_source)?;
        let modules = root.join("node_modules");
        if family == JAVASCRIPT && modules.is_dir() {
            let mut walk = WalkBuilder::new(&modules);
            walk.standard_filters(false).follow_links(true);
            files.read_tree(&walk, root, |_| true)?;
        }
    }
    for path in COMPANIONS.iter().map(|name| root.join(name)).filter(|path| path.is_file()) {
        files.read(place(root, &path), &path, false)?;
    }
    for path in &options.includes {
        let Some(path) = below(root, path).filter(|path| path.exists()) else {
            let (path, root) = (path.display(), root.display());
            return Err(Failure::usage(format!("invalid --include: there is no {path} below {root}")));
        };
        let mut walk = WalkBuilder::new(path);
        walk.standard_filters(false);
        files.read_tree(&walk, root, |_| true)?;
    }
    files.read(place(root, file), file, family.is_empty())
}

/// The path by way of `root`, if it is below it.
fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    let (root_path, path) = (std::path::absolute(root).ok()?, std::path::absolute(path).ok()?);
    let inside = path.strip_prefix(root_path).ok()?;
    inside.components().all(|part| matches!(part, Component::Normal(_))).then(|| root.join(inside))
}

/// The place of a file in a bundle.
fn place(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> =
        inside.components().map(|part| part.as_os_str().to_string_lossy()).filter(|part| part != ".").collect();
    format!("{TOOLS}/{}", parts.join("/"))
}

fn is_generated(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_directory && ["node_modules", "__pycache__", "target", "venv"].iter().any(|name| entry.file_name() == *name)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(_: &Path) -> bool {
    false
}

/// The sizes: of the bundle, of the program, and of the other parts.
fn report(output: &Path, packed: &Archive, unpacked: &BTreeMap<String, usize>) -> String {
    let mut parts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (path, size) in &packed.sizes {
        let part = match path.as_str() {
            PROGRAM | WINDOWS_PROGRAM | "manifest.json" => path,
            path if path.contains("/node_modules/") => "node_modules",
            _ => TOOLS,
        };
        let [files, packed, whole] = parts.entry(part).or_default();
        *files += 1;
        *packed += size;
        *whole += unpacked.get(path).copied().unwrap_or_default();
    }
    let whole: usize = unpacked.values().sum();
    let mut text = format!("{}: {}, {} unpacked\n", output.display(), size(packed.bytes.len()), size(whole));
    for (part, [files, packed, whole]) in parts {
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let (packed, whole) = (size(packed), size(whole));
        writeln!(text, "  {part:<15} {files:>11} {packed:>9} of {whole}").expect("a string takes everything");
    }
    text
}

/// A size for people.
fn size(bytes: usize) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

fn write(path: &PathBuf, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}
