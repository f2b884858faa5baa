//! Joins the modules of a JavaScript package: three files are opened sooner than fifty.
//!
//! Each module becomes a function that is called once and returns its exports. They are called in the order in which the
//! modules were evaluated, those that both entries use first. That is the same as long as no export is assigned later and
//! no modules import each other: a module that is written in another way ends the build.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The file with the modules that both entries use: there is one of each, as before.
const SHARED: &str = "shared.js";

/// The names that one statement takes from another module.
struct Import {
    names: Vec<String>,
    from: String,
}

struct Module {
    imports: Vec<Import>,
    /// The names of exports, with their expressions.
    exports: Vec<(String, String)>,
    /// The statements without imports and exports.
    body: String,
}

/// The joined files of a package, by path. `read` returns the text of a module by its path, such as `wire/frames.js`.
pub(crate) fn join(entries: [&str; 2], read: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    let orders = entries.map(|entry| {
        let mut order = Order { read, modules: BTreeMap::new(), paths: Vec::new() };
        order.load(entry, &mut Vec::new());
        order
    });
    let [first, second] = &orders;
    let is_shared = |path: &String| first.modules.contains_key(path) && second.modules.contains_key(path);
    let shared: Vec<&String> = first.paths.iter().filter(|path| is_shared(path)).collect();
    assert!(!first.paths.iter().chain(&second.paths).any(|path| path == SHARED), "a module is named {SHARED}");
    let names = shared.iter().map(|path| identifier(path)).collect::<Vec<_>>().join(", ");
    let mut files = vec![(SHARED.to_owned(), format!("{}export {{ {names} }};\n", first.text(&shared)))];
    for (entry, order) in entries.into_iter().zip(&orders) {
        let own: Vec<&String> = order.paths.iter().filter(|path| !is_shared(path)).collect();
        let exports = order.modules[entry].exports.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join(", ");
        let mut text = format!("import {{ {names} }} from \"./{SHARED}\";\n{}", order.text(&own));
        writeln!(text, "export const {{ {exports} }} = {};", identifier(entry)).expect("a string grows");
        files.push((entry.to_owned(), text));
    }
    files
}

/// The modules that an entry needs, in the order of their evaluation.
struct Order<'a> {
    read: &'a dyn Fn(&str) -> String,
    modules: BTreeMap<String, Module>,
    paths: Vec<String>,
}

impl Order<'_> {
    fn load(&mut self, path: &str, above: &mut Vec<String>) {
        if self.modules.contains_key(path) {
            return;
        }
        assert!(!above.iter().any(|each| each == path), "modules that import each other cannot be joined: {above:?}");
        above.push(path.to_owned());
        let module = Module::parse(path, &(self.read)(path));
        for import in module.imports.iter().filter(|import| is_own(&import.from)) {
            self.load(&import.from, above);
        }
        above.pop();
        self.modules.insert(path.to_owned(), module);
        self.paths.push(path.to_owned());
    }

    /// The source of these modules.
    fn text(&self, paths: &[&String]) -> String {
        let modules = || paths.iter().map(|path| (path, &self.modules[*path]));
        let packages: BTreeSet<&str> = modules()
            .flat_map(|(_, module)| &module.imports)
            .map(|import| &*import.from)
            .filter(|from| !is_own(from))
            .collect();
        let mut text = String::new();
        for package in packages {
            writeln!(text, "import * as {} from \"{package}\";", identifier(package)).expect("a string grows");
        }
        for (path, module) in modules() {
            writeln!(text, "// {path}\nconst {} = (() => {{", identifier(path)).expect("a string grows");
            for Import { names, from } in module.imports.iter().filter(|import| !import.names.is_empty()) {
                let names = names.iter().map(|name| name.replace(" as ", ": ")).collect::<Vec<_>>().join(", ");
                writeln!(text, "const {{ {names} }} = {};", identifier(from)).expect("a string grows");
            }
            let exports = module.exports.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>();
            writeln!(text, "{}return {{ {} }};\n}})();", module.body, exports.join(", ")).expect("a string grows");
        }
        text
    }
}

impl Module {
    fn parse(path: &str, source: &str) -> Self {
        let mut module = Self { imports: Vec::new(), exports: Vec::new(), body: String::new() };
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("import ") || line.starts_with("export {") {
                let mut statement = line.to_owned();
                while !statement.ends_with(';') {
                    statement.push_str(lines.next().unwrap_or_else(|| unknown(path, line)));
                }
                module.link(path, &statement);
                continue;
            }
            let declaration = line.strip_prefix("export ");
            if let Some(declaration) = declaration {
                let name = declared(declaration).unwrap_or_else(|| unknown(path, line));
                module.exports.push((name.to_owned(), name.to_owned()));
            }
            writeln!(module.body, "{}", declaration.unwrap_or(line)).expect("a string grows");
        }
        module
    }

    /// Takes a statement that names another module: an import, or the export of names of that module.
    fn link(&mut self, path: &str, statement: &str) {
        let parts = statement.split_once('{').and_then(|(kind, rest)| {
            let (names, rest) = rest.split_once('}')?;
            Some((kind.trim(), names, rest.trim().strip_prefix("from \"")?.strip_suffix("\";")?))
        });
        let (kind, names, from) = parts.unwrap_or_else(|| unknown(path, statement));
        let from = if from.starts_with('.') { resolve(path, from) } else { from.to_owned() };
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        match kind {
            "import" => self.imports.push(Import { names: names.collect(), from }),
            "export" => {
                let id = identifier(&from);
                self.exports.extend(names.map(|name| {
                    assert!(!name.contains(' '), "{path}: `as` in an export is not known to the build");
                    let value = format!("{id}.{name}");
                    (name, value)
                }));
                self.imports.push(Import { names: Vec::new(), from });
            }
            _ => unknown(path, statement),
        }
    }
}

/// The name in a declaration whose value does not change.
fn declared(text: &str) -> Option<&str> {
    let text = text.strip_prefix("async ").unwrap_or(text);
    let rest = ["function* ", "function ", "class ", "const "].iter().find_map(|word| text.strip_prefix(word))?;
    let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_' && char != '$')?;
    (end > 0).then(|| &rest[..end])
}

fn is_own(from: &str) -> bool {
    !from.starts_with("node:")
}

/// The path of a module that another one names.
fn resolve(path: &str, name: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The variable with the exports of a module.
fn identifier(path: &str) -> String {
    let stem = path.strip_suffix(".js").unwrap_or(path);
    format!("$${}", stem.replace(|char: char| !char.is_ascii_alphanumeric(), "_"))
}

fn unknown(path: &str, text: &str) -> ! {
    panic!("{path}: `{text}` is written in a form that crates/lend/build_modules.rs does not know")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(modules: &[(&str, &str)]) -> Vec<(String, String)> {
        let read = |path: &str| {
            let found = modules.iter().find(|(name, _)| *name == path);
            found.unwrap_or_else(|| panic!("there is no {path}")).1.to_owned()
        };
        join(["index.js", "testing.js"], &read)
    }

    #[test]
    fn each_module_is_in_one_file() {
        let files = joined(&[
            ("index.js", "import { run } from \"./run.js\";\n\nexport { a } from \"./deep/a.js\";\n\nrun();\n"),
            (
                "testing.js",
                "import { Buffer as B } from \"node:buffer\";\nimport { c } from \"./c.js\";\nexport class T {}\n",
            ),
            ("run.js", "import {\n  c,\n} from \"./c.js\";\nexport const run = () => c;\n"),
            ("deep/a.js", "import { c as other } from \"../c.js\";\nexport async function a() {\n  return other;\n}\n"),
            ("c.js", "export const c = 1;\n"),
        ]);
        let expected = [
            ("shared.js", "// c.js\nconst $$c = (() => {\nconst c = 1;\nreturn { c: c };\n})();\nexport { $$c };\n"),
            (
                "index.js",
                "import { $$c } from \"./shared.js\";\n\
                 // run.js\nconst $$run = (() => {\nconst { c } = $$c;\nconst run = () => c;\n\
                 return { run: run };\n})();\n\
                 // deep/a.js\nconst $$deep_a = (() => {\nconst { c: other } = $$c;\n\
                 async function a() {\n  return other;\n}\nreturn { a: a };\n})();\n\
                 // index.js\nconst $$index = (() => {\nconst { run } = $$run;\n\n\nrun();\n\
                 return { a: $$deep_a.a };\n})();\nexport const { a } = $$index;\n",
            ),
            (
                "testing.js",
                "import { $$c } from \"./shared.js\";\nimport * as $$node_buffer from \"node:buffer\";\n\
                 // testing.js\nconst $$testing = (() => {\nconst { Buffer: B } = $$node_buffer;\nconst { c } = $$c;\n\
                 class T {}\nreturn { T: T };\n})();\nexport const { T } = $$testing;\n",
            ),
        ];
        assert_eq!(files, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }

    #[test]
    #[should_panic(expected = "modules that import each other cannot be joined")]
    fn a_circle_ends_the_build() {
        joined(&[
            ("index.js", "import { a } from \"./a.js\";\n"),
            ("a.js", "import { b } from \"./index.js\";\n"),
            ("testing.js", ""),
        ]);
    }

    #[test]
    fn forms_that_change_the_meaning_end_the_build() {
        for text in [
            "export let a = 1;",
            "export default 1;",
            "export * from \"./b.js\";",
            "export { a };",
            "export { a as b } from \"./b.js\";",
            "import a from \"./b.js\";",
            "import * as a from \"./b.js\";",
            "import \"./b.js\";",
            "export const { a } = b;",
        ] {
            let result = std::panic::catch_unwind(|| joined(&[("index.js", text), ("b.js", ""), ("testing.js", "")]));
            assert!(result.is_err(), "{text}");
        }
    }
}
