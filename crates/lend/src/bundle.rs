//! The files of an SDK, as part of the program.

/// A file of a bundle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct File {
    /// Relative to the folder, with slashes.
    pub(crate) path: &'static str,
    pub(crate) bytes: &'static [u8],
}

/// An SDK.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bundle {
    /// The name of its folder, which has a digest of the files.
    pub(crate) folder: &'static str,
    pub(crate) files: &'static [File],
}

/// The SDKs that can be lent.
#[derive(Debug, Clone, Copy)]
pub struct Bundles {
    pub(crate) python: Bundle,
    pub(crate) node: Bundle,
}

impl Bundles {
    /// The SDKs of this repository, as they were when this crate was built.
    #[cfg(feature = "bundled")]
    pub const OWN: Self = Self { python: PYTHON, node: NODE };
}

#[cfg(feature = "bundled")]
include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

#[cfg(all(test, feature = "bundled"))]
mod tests {
    use super::*;

    fn has(bundle: &Bundle, path: &str) -> bool {
        bundle.files.iter().any(|file| file.path == path)
    }

    #[test]
    fn the_sdks_are_whole_and_have_nothing_else() {
        let Bundles { python, node } = Bundles::OWN;
        for path in ["lent/protomcp/__init__.py", "sdk/protomcp/__init__.py", "sdk/protomcp/py.typed"] {
            assert!(has(&python, path), "{path}");
        }
        for path in [
            "register.mjs",
            "hooks.mjs",
            "import_map.json",
            "modules/protomcp/package.json",
            "modules/protomcp/src/index.js",
        ] {
            assert!(has(&node, path), "{path}");
        }
        let modules: Vec<_> =
            node.files.iter().filter_map(|file| file.path.strip_prefix("modules/protomcp/src/")).collect();
        assert_eq!(modules, ["index.js", "shared.js", "testing.js"], "a start reads few files");
        let all = [python, node].into_iter().flat_map(|bundle| bundle.files);
        let strange: Vec<_> = all
            .filter(|file| !["py", "js", "mjs", "json", "typed"].iter().any(|end| file.path.ends_with(end)))
            .collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!((python.folder.len(), node.folder.len()), ("python-".len() + 32, "node-".len() + 32));
    }

    /// A package that is found through `NODE_PATH` has no `exports` there (https://github.com/oven-sh/bun/pull/36566).
    #[test]
    fn the_package_has_an_entry_for_bun() {
        let Bundles { node, .. } = Bundles::OWN;
        let package = node.files.iter().find(|file| file.path == "modules/protomcp/package.json").unwrap();
        let text = std::str::from_utf8(package.bytes).unwrap();
        let [exported, main] = ["\"default\": \"./", "\"main\": \"./"].map(|key| {
            let (_, rest) = text.split_once(key).unwrap_or_else(|| panic!("{key}: {text}"));
            rest.split_once('"').unwrap().0
        });
        assert_eq!(main, exported);
        assert!(has(&node, &format!("modules/protomcp/{main}")), "{main}");
    }

    /// Deno knows the entries of the package by the import map alone.
    #[test]
    fn the_import_map_has_the_entries_of_the_package() {
        let Bundles { node, .. } = Bundles::OWN;
        let text = |path: &str| {
            let file = node.files.iter().find(|file| file.path == path).unwrap();
            std::str::from_utf8(file.bytes).unwrap().to_owned()
        };
        let (package, map) = (text("modules/protomcp/package.json"), text("import_map.json"));
        let exported: Vec<_> =
            package.split("\"default\": \"./").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let mapped: Vec<_> =
            map.split("\"./modules/protomcp/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(mapped, exported);
        for path in mapped {
            assert!(has(&node, &format!("modules/protomcp/{path}")), "{path}");
        }
    }
}
