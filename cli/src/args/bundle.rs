//! The command line of `bundle`.

use std::path::{Path, PathBuf};

use clap::Args;
use protomcp_bridge::ToolFile;
use protomcp_install::{BundleSetting, check_name, name_for};

use crate::args::client::{ServerFlags, Target};
use crate::args::grammar::Grammar;
use crate::args::settings::{Names, file_next_to};
use crate::args::settings_file::written;
use crate::args::skills::SKILLS;
use crate::exit::Failure;

/// Make a bundle of a tool file, which hosts install with a double click
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Bundle {
    /// The tool file
    file: PathBuf,

    /// The bundle [default: the name of the server with .mcpb, in the current directory]
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Name of the server [default: from the name of the file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Version of the server
    #[arg(long, value_name = "VERSION", default_value = "1.0.0")]
    version: String,

    /// One sentence about the server, of 100 characters at most [default: the number of its tools]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Name of the author
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    author: String,

    /// Environment variable that the host asks its user for, as NAME or NAME=DESCRIPTION; may be repeated
    #[arg(long = "setting", value_name = "NAME")]
    settings: Vec<String>,

    /// A file or directory next to the tool file that it needs; may be repeated
    #[arg(long = "include", value_name = "PATH")]
    includes: Vec<PathBuf>,

    /// A file that looks like a secret and is none, or a directory of them; may be repeated
    #[arg(long = "allow-secret", value_name = "PATH")]
    allowed_secrets: Vec<PathBuf>,

    /// The pmcp of the bundle, for Linux, macOS or Windows [default: this program]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Also write server.json for the public registry, for this name, such as io.github.ann/tools
    #[arg(long, value_name = "NAME", requires = "url")]
    registry_name: Option<String>,

    /// URL from which the bundle can be downloaded
    #[arg(long, value_name = "URL", requires = "registry_name")]
    url: Option<String>,

    #[command(flatten)]
    server: ServerFlags,
}

const EXAMPLES: &str = "\
Examples:
  pmcp bundle tools.py --version 1.2.0              tools.mcpb, for hosts on this system
  pmcp bundle tools.py --setting API_KEY=\"Your key\" with a field for a key, read from API_KEY
  pmcp bundle tools.py --registry-name io.github.ann/tools --url https://example.com/tools.mcpb
                                                    also server.json for the public registry

A bundle has this program, the tool file, the files of its language below its directory, pmcp.toml, package.json, \
node_modules, and the skills that pmcp.toml and the tool file name. It needs the interpreter of the file on the \
user's machine; Python packages are not in it. Files that look like secrets make no bundle. The same files make the \
same bundle, byte for byte.";

/// The options of `pmcp bundle`.
#[derive(Debug)]
pub(crate) struct BundleOptions {
    pub(crate) file: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    pub(crate) author: String,
    pub(crate) settings: Vec<BundleSetting>,
    pub(crate) includes: Vec<PathBuf>,
    /// The folders of skills, as `pmcp.toml` names them.
    pub(crate) skills: Vec<PathBuf>,
    /// Files and directories that are not searched for secrets.
    pub(crate) allowed_secrets: Vec<PathBuf>,
    pub(crate) binary: Option<PathBuf>,
    /// The name in the registry, and the URL of the bundle.
    pub(crate) registry: Option<(String, String)>,
    pub(crate) server: ServerFlags,
}

impl Bundle {
    pub(super) fn options(mut self, grammar: &Grammar) -> Result<BundleOptions, Failure> {
        let word = self.file.to_string_lossy().into_owned();
        let Target::File(file) = self.server.target(Some(word), "bundle")? else {
            return Err(Failure::usage("a bundle is made of a tool file"));
        };
        if file.is_dir() || !ToolFile::new(&file).is_runnable() {
            return Err(Failure::usage(format!(
                "{} is a directory; build the program, and name it in its place",
                file.display()
            )));
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = self.name.unwrap_or_else(|| name_for(&stem));
        check_name(&name).map_err(|error| Failure::usage(error.to_string()))?;
        if self.description.as_ref().is_some_and(|text| text.is_empty() || text.chars().count() > 100) {
            return Err(Failure::usage("invalid --description: it has 1 to 100 characters"));
        }
        if !is_version(&self.version) {
            return Err(Failure::usage(format!(
                "invalid --version \"{}\": it is one version of at most 255 characters, such as 1.2.0, and not a range",
                self.version
            )));
        }
        if let Some(name) = self.registry_name.as_ref().filter(|name| !is_registry_name(name)) {
            return Err(Failure::usage(format!(
                "invalid --registry-name \"{name}\": it has 3 to 200 characters, such as io.github.ann/tools: letters, \
                 digits, . and - before one /, and also _ after it"
            )));
        }
        Ok(BundleOptions {
            output: self.output.unwrap_or_else(|| format!("{name}.mcpb").into()),
            settings: self.settings.iter().map(|text| setting(text)).collect::<Result<_, _>>()?,
            registry: self.registry_name.zip(self.url),
            skills: skills(&file, grammar)?,
            file,
            name,
            version: self.version,
            description: self.description,
            author: self.author,
            includes: self.includes,
            allowed_secrets: self.allowed_secrets,
            binary: self.binary,
            server: self.server,
        })
    }
}

/// The folders of skills that are served with the tool file: a bundle starts `pmcp run`, which reads these settings.
fn skills(file: &Path, grammar: &Grammar) -> Result<Vec<PathBuf>, Failure> {
    let settings = written(&file_next_to(file), "run", || Names::of(&grammar.whole()))?;
    let folders = settings.into_iter().filter(|setting| setting.flag == SKILLS).flat_map(|setting| setting.values);
    Ok(folders.map(PathBuf::from).collect())
}

/// True for what the registry takes as a version (`server.schema.json` of 2025-12-11, `version`): any text but a range,
/// such as ^1.2.3, 1.x and 1.*, and latest.
fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let is_range = text.contains(|c: char| c.is_whitespace() || "^~<>=*|,".contains(c))
        || core.split('.').any(|part| part.eq_ignore_ascii_case("x"));
    (1..=255).contains(&text.chars().count()) && !is_range && text != "latest"
}

/// True for what the registry takes as a name (`server.schema.json` of 2025-12-11, `name`).
fn is_registry_name(name: &str) -> bool {
    let is_made_of = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let parts = name.split_once('/');
    (3..=200).contains(&name.len())
        && parts.is_some_and(|(space, server)| is_made_of(space, ".-") && is_made_of(server, "._-"))
}

fn setting(text: &str) -> Result<BundleSetting, Failure> {
    let (variable, description) = text.split_once('=').unwrap_or((text, "Environment variable of the server"));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(is_name) || variable.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(Failure::usage(format!("invalid --setting \"{text}\": expected NAME or NAME=DESCRIPTION")));
    }
    let setting = BundleSetting { variable: variable.to_owned(), description: description.to_owned() };
    let is_value = description.len() > 7
        && description.contains(|c: char| c.is_ascii_digit())
        && !description.contains(char::is_whitespace);
    if setting.is_secret() && is_value {
        return Err(Failure::usage(format!(
            "invalid --setting {variable}: the text after = is a description, which users read, and this one looks like a \
             value; the host asks its user for that"
        )));
    }
    Ok(setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_a_description_and_not_a_value() {
        for text in ["API_KEY", "API_KEY=The key 2", "API_KEY=Key2", "REGION=eu-central-1", "API_KEY=Password"] {
            assert!(setting(text).is_ok(), "{text}");
        }
        let failure = setting("API_KEY=hunter2hunter2").expect_err("it is a value").to_string();
        assert!(failure.contains("API_KEY") && !failure.contains("hunter2"), "{failure}");
    }

    #[test]
    fn versions_and_names_follow_the_registry() {
        for version in ["1.0.0", "2.1.0-alpha.x", "2026-11-27", "v1", "1.0.0+x"] {
            assert!(is_version(version), "{version}");
        }
        for version in ["", "^1.2.3", "~1.2.3", ">=1.2.3", "1.x", "1.*", "1 - 2", "latest", &"1".repeat(256)] {
            assert!(!is_version(version), "{version}");
        }
        for name in ["io.github.ann/tools", "a/b", "com.example-2/My_tools.x"] {
            assert!(is_registry_name(name), "{name}");
        }
        for name in ["tools", "a/", "/a", "a/b/c", "a_b/c", "io.github.ann/tools!", &format!("a/{}", "b".repeat(199))] {
            assert!(!is_registry_name(name), "{name}");
        }
    }
}
