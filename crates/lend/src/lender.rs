//! The variable or the option with which an interpreter finds an SDK.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::bundle::Bundles;
use crate::cache::SdkCache;
use crate::error::LendError;
use crate::source::{Runtime, SdkSource};
use crate::{deno, node, python};

/// Lends SDKs to interpreters, by the choice of the user.
#[derive(Debug, Clone)]
pub struct Lender {
    source: SdkSource,
    bundles: Option<Bundles>,
    cache: Option<SdkCache>,
}

/// The means by which an interpreter finds an SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loan {
    /// A variable of its environment, with the value.
    Variable(&'static str, OsString),
    /// An option, before the file.
    Option(OsString),
}

impl Lender {
    /// Lends these SDKs, and keeps their files in `cache`. Without SDKs, or without a cache, it lends as far as nothing
    /// is needed of them.
    #[must_use]
    pub fn new(source: SdkSource, bundles: Option<Bundles>, cache: Option<SdkCache>) -> Self {
        Self { source, bundles, cache }
    }

    /// The choice of the user.
    #[must_use]
    pub fn source(&self) -> SdkSource {
        self.source
    }

    /// The loan for the interpreter of `file`, if it needs one. Puts the SDK into the cache unless it is there, which takes
    /// less than a millisecond. `present` is the present value of a variable.
    ///
    /// # Errors
    /// See [`LendError`]. With [`SdkSource::Auto`] the interpreter may still have its own SDK.
    pub fn lend(
        &self,
        runtime: Runtime,
        file: &Path,
        present: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Loan>, LendError> {
        let is_needed = match (self.source, runtime) {
            (SdkSource::Installed, _) => false,
            (SdkSource::Bundled, _) | (SdkSource::Auto, Runtime::Python) => true,
            (SdkSource::Auto, Runtime::Node | Runtime::Bun) => node::installed(file).is_none(),
            (SdkSource::Auto, Runtime::Deno) => node::installed(file).is_none() && !deno::has_imports(file),
        };
        if !is_needed {
            return Ok(None);
        }
        // Nothing comes before its `node_modules`.
        if let (SdkSource::Bundled, Runtime::Bun, Some(package)) = (self.source, runtime, node::installed(file)) {
            return Err(LendError::Installed(package));
        }
        let folder = self.folder(runtime)?;
        let (name, value) = match runtime {
            Runtime::Python => {
                (python::VARIABLE, python::search_path(self.source, &folder, present(python::VARIABLE).as_deref())?)
            }
            Runtime::Node => (node::OPTIONS, node::options(self.source, &folder, present(node::OPTIONS).as_deref())),
            Runtime::Bun => (node::SEARCH_PATH, node::search_path(&folder, present(node::SEARCH_PATH).as_deref())?),
            Runtime::Deno => return Ok(Some(Loan::Option(deno::import_map(&folder)))),
        };
        Ok(Some(Loan::Variable(name, value)))
    }

    /// The remedy for a Deno that borrows no SDK and finds none, if there is a particular one. Puts the SDK that the remedy
    /// names into the cache.
    #[must_use]
    pub fn remedy_for_deno(&self, file: &Path) -> Option<String> {
        let alone = "or give the file the SDK of pmcp alone with --sdk bundled";
        if self.source != SdkSource::Auto {
            return None;
        }
        if deno::has_imports(file) {
            let entry = deno::entry(&self.folder(Runtime::Deno).ok()?);
            return Some(format!(
                "Deno finds no SDK, and an import map would replace the imports of its configuration: add {entry} to them, \
                 {alone}"
            ));
        }
        let package = node::installed(file)?;
        Some(format!(
            "Deno does not look for packages in {} without a configuration: name protomcp in a package.json, {alone}",
            package.parent().unwrap_or(&package).display()
        ))
    }

    /// The folder with the files of the SDK.
    fn folder(&self, runtime: Runtime) -> Result<PathBuf, LendError> {
        let bundles = self.bundles.as_ref().ok_or(LendError::NoBundle)?;
        let bundle = match runtime {
            Runtime::Python => &bundles.python,
            Runtime::Node | Runtime::Bun | Runtime::Deno => &bundles.node,
        };
        self.cache.as_ref().ok_or(LendError::NoFolder)?.keep(bundle)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bundle::{Bundle, File};

    const FILES: &[File] = &[File { path: "a", bytes: b"a" }];
    const BUNDLES: Bundles = Bundles {
        python: Bundle { folder: "python-1", files: FILES },
        node: Bundle { folder: "node-1", files: FILES },
    };

    #[test]
    fn the_choice_decides_about_each_runtime() {
        use Runtime::{Bun, Deno, Node, Python};
        use SdkSource::{Auto, Bundled, Installed};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("with/node_modules/protomcp")).unwrap();
        fs::write(at("with/node_modules/protomcp/package.json"), "{}").unwrap();
        let cache = SdkCache::new(at("cache"));
        for (source, runtime, file, variable, part) in [
            (Auto, Python, "without/t.py", "PYTHONPATH", "python-1/lent"),
            (Auto, Python, "with/t.py", "PYTHONPATH", "python-1/lent"),
            (Auto, Node, "without/t.js", "NODE_OPTIONS", "node-1/register.mjs"),
            (Auto, Node, "with/t.js", "", ""),
            (Auto, Bun, "without/t.js", "NODE_PATH", "node-1/modules"),
            (Auto, Bun, "with/t.js", "", ""),
            (Auto, Deno, "without/t.js", "--import-map", "node-1/import_map.json"),
            (Auto, Deno, "with/t.js", "", ""),
            (Bundled, Python, "with/t.py", "PYTHONPATH", "python-1/sdk"),
            (Bundled, Node, "with/t.js", "NODE_OPTIONS", "node-1/register.mjs?bundled"),
            (Bundled, Bun, "without/t.js", "NODE_PATH", "node-1/modules"),
            (Installed, Python, "without/t.py", "", ""),
            (Installed, Node, "without/t.js", "", ""),
            (Bundled, Deno, "with/t.js", "--import-map", "node-1/import_map.json"),
            (Installed, Bun, "without/t.js", "", ""),
            (Installed, Deno, "without/t.js", "", ""),
        ] {
            let lender = Lender::new(source, Some(BUNDLES), Some(cache.clone()));
            let lent = lender.lend(runtime, &at(file), |_| Some("/mine".into())).unwrap();
            let row = format!("{source:?} {runtime:?} {file}: {lent:?}");
            match lent {
                None => assert_eq!(variable, "", "{row}"),
                Some(Loan::Variable(name, value)) => {
                    let value = value.to_string_lossy();
                    assert!(name == variable && value.contains(part) && value.contains("/mine"), "{row}");
                }
                Some(Loan::Option(option)) => {
                    let option = option.to_string_lossy();
                    let (name, value) = option.split_once('=').unwrap();
                    assert!(name == variable && value.ends_with(part), "{row}");
                }
            }
        }
    }

    #[test]
    fn an_installed_sdk_hides_the_bundled_one_from_bun() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules/protomcp");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), "{}").unwrap();
        let lender = Lender::new(SdkSource::Bundled, Some(BUNDLES), Some(SdkCache::new(folder.path().join("cache"))));
        let refused = lender.lend(Runtime::Bun, &folder.path().join("t.ts"), |_| None).unwrap_err().to_string();
        assert!(refused.contains("node_modules/protomcp") && refused.contains("--sdk auto"), "{refused}");
    }

    #[test]
    fn deno_without_an_sdk_has_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.ts");
        let remedy = |source| {
            let cache = SdkCache::new(folder.path().join("cache"));
            Lender::new(source, Some(BUNDLES), Some(cache)).remedy_for_deno(&file)
        };
        assert_eq!(remedy(SdkSource::Auto), None);
        let package = folder.path().join("node_modules/protomcp");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), "{}").unwrap();
        let installed = remedy(SdkSource::Auto).unwrap();
        assert!(
            installed.contains("name protomcp in a package.json") && !installed.contains("import map"),
            "{installed}"
        );
        fs::write(folder.path().join("deno.json"), r#"{"imports": {"zod": "npm:zod"}}"#).unwrap();
        let imports = remedy(SdkSource::Auto).unwrap();
        assert!(imports.contains("add \"protomcp\": \"file:///") && imports.contains("--sdk bundled"), "{imports}");
        assert_eq!(remedy(SdkSource::Installed), None);
    }

    #[test]
    fn nothing_is_lent_without_sdks_or_a_folder() {
        let of =
            |source, bundles, runtime| Lender::new(source, bundles, None).lend(runtime, Path::new("/none/t"), |_| None);
        assert!(matches!(of(SdkSource::Auto, None, Runtime::Python), Err(LendError::NoBundle)));
        assert!(matches!(of(SdkSource::Auto, Some(BUNDLES), Runtime::Node), Err(LendError::NoFolder)));
        assert!(matches!(of(SdkSource::Installed, None, Runtime::Python), Ok(None)));
    }
}
