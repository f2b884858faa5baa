//! `pmcp bundle`: a tool file and this program as one file that hosts install.

mod files;
mod output;
mod platform;
mod secrets;
mod skills;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use ignore::{DirEntry, WalkBuilder};
use protomcp_install::{Archive, BundleManifest, archive, registry_entry};
use sha2::{Digest, Sha256};

use crate::args::bundle::BundleOptions;
use crate::args::client::Target;
use crate::client::bundle::files::{Files, Folder, TOOLS, load};
use crate::client::bundle::output::Output;
use crate::client::bundle::platform::system_of;
use crate::client::bundle::secrets::Secrets;
use crate::client::bundle::skills::NamedSkills;
use crate::client::connection::Connection;
use crate::exit::{self, Failure};

/// The place of the program in a bundle, and in one for Windows.
const PROGRAM: &str = "server/pmcp";
const WINDOWS_PROGRAM: &str = "server/pmcp.exe";
/// Files next to a tool file that belong to it, whatever its language.
const COMPANIONS: [&str; 2] = ["pmcp.toml", "package.json"];
/// The files of a language, by the extensions of tool files.
const PYTHON: &[&str] = &["py", "pyi"];
const JAVASCRIPT: &[&str] = &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "json"];

/// Writes the bundle, and prints its size.
pub(super) async fn bundle(options: BundleOptions) -> Result<(), Failure> {
    let output = Output::of_bundle(&options.output)?;
    let entry_path = options.output.with_file_name("server.json");
    let entry = options.registry.as_ref().map(|_| Output::of_entry(&entry_path)).transpose()?;
    let Listed { tools, skills } = list(&options).await?;
    let name = options.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let count = tools.len();
    let counted = || format!("{count} {}, served by pmcp", if count == 1 { "tool" } else { "tools" });
    let (program, os) = program(&options)?;
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
    let secrets = rules(&options);
    secrets.check_manifest(&manifest, options.registry.as_ref()).map_err(Failure::usage)?;
    let mut files = Files::new(secrets, [&output].into_iter().chain(&entry).collect());
    files.add("manifest.json".to_owned(), manifest.json().into_bytes(), false)?;
    files.add(path.to_owned(), program, true)?;
    let skills = NamedSkills { settings: &options.skills, name: &name, file: &skills };
    collect(&options, &skills, &mut files)?;
    files.check()?;
    let unpacked: BTreeMap<_, _> = files.all.iter().map(|(path, file)| (path.clone(), file.data.len())).collect();
    let packed = archive(files.all.into_values().collect()).map_err(|error| Failure::failed(error.to_string()))?;
    output.write(&packed.bytes)?;
    let sha256 = Sha256::digest(&packed.bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    });
    let mut report = report(&options.output, &packed, &unpacked);
    writeln!(report, "sha256 {sha256}").expect("a string takes everything");
    if let (Some((name, url)), Some(entry)) = (&options.registry, &entry) {
        entry.write(registry_entry(&manifest, name, url, &sha256).as_bytes())?;
        writeln!(report, "{} is for the public registry", entry_path.display()).expect("a string takes everything");
    }
    exit::print(&report)
}

/// The `pmcp` of the bundle, and its operating system.
fn program(options: &BundleOptions) -> Result<(Vec<u8>, &'static str), Failure> {
    let Some(path) = &options.binary else {
        let own = std::env::current_exe().map_err(|error| Failure::failed(format!("cannot find pmcp: {error}")))?;
        return Ok((load(&own)?, std::env::consts::OS));
    };
    let program = load(path)?;
    let os = system_of(&program).ok_or_else(|| {
        Failure::usage(format!(
            "invalid --binary: {} is not a program for Linux (ELF), macOS (Mach-O) or Windows (PE)",
            path.display()
        ))
    })?;
    Ok((program, os))
}

/// The tools of a file, and the folders of skills that it names.
struct Listed {
    /// Names and descriptions.
    tools: Vec<(String, String)>,
    skills: Vec<PathBuf>,
}

/// Starts the tool file; one that does not start makes no bundle.
async fn list(options: &BundleOptions) -> Result<Listed, Failure> {
    let connection = Connection::open(Target::File(options.file.clone()), &options.server).await?;
    let listed: Result<Vec<_>, _> = connection.session.tools().try_collect().await;
    let skills = connection.named_skills().unwrap_or_default().folders;
    connection.close().await;
    let tools = listed.map_err(|error| Failure::failed(format!("cannot list tools: {error}")))?;
    let described = tools.iter().map(|tool| (tool.name.to_string(), tool.description.clone().unwrap_or_default()));
    Ok(Listed { tools: described.collect(), skills })
}

/// The rules for secrets: settings have values in this environment while a tool file is written.
fn rules(options: &BundleOptions) -> Secrets {
    let names = options.settings.iter().map(|setting| &setting.variable);
    let values = names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
    Secrets::new(&options.allowed_secrets, values)
}

/// The tool file and the files that belong to it.
fn collect(options: &BundleOptions, skills: &NamedSkills<'_>, files: &mut Files<'_>) -> Result<(), Failure> {
    let file = &options.file;
    let folder = Folder::of(file)?;
    let root = folder.path.as_path();
    let extension = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    let family = [PYTHON, JAVASCRIPT].into_iter().find(|family| family.contains(&extension)).unwrap_or_default();
    if !family.is_empty() {
        let is_source =
            |path: &Path| path.extension().and_then(OsStr::to_str).is_some_and(|extension| family.contains(&extension));
        let mut walk = WalkBuilder::new(root);
        walk.git_global(false).git_exclude(false).require_git(false).filter_entry(|entry| !is_generated(entry));
        files.read_tree(&mut walk, &folder, is_source)?;
        let modules = root.join("node_modules");
        if family == JAVASCRIPT && modules.is_dir() {
            files.read_tree(WalkBuilder::new(&modules).standard_filters(false), &folder, |_| true)?;
        }
    }
    for path in COMPANIONS.iter().map(|name| root.join(name)).filter(|path| path.is_file()) {
        files.read(&folder, &path, false)?;
    }
    for path in &options.includes {
        let Some(path) = folder.below(path).filter(|path| path.exists()) else {
            let (path, root) = (path.display(), root.display());
            return Err(Failure::usage(format!("invalid --include: there is no {path} below {root}")));
        };
        let read = files.read_tree(WalkBuilder::new(&path).standard_filters(false), &folder, |_| true)?;
        if read == 0 {
            let path = path.display();
            return Err(Failure::usage(format!(
                "invalid --include: {path} is neither a file nor a directory with files"
            )));
        }
    }
    skills.add(&folder, files)?;
    files.read(&folder, file, family.is_empty())
}

fn is_generated(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_directory && ["node_modules", "__pycache__", "target", "venv"].iter().any(|name| entry.file_name() == *name)
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
