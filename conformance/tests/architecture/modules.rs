//! The modules of one crate, read as text: their files, imports and definitions, and the arrows between files.
//!
//! An arrow goes to the file that *defines* a name, through any number of re-exports. A re-export alone is not an
//! arrow: a parent that only passes the names of its children on does not depend on them. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::root;
use super::tokens::{Kind, Token, tokens};

/// The files that a compiler starts from, of all packages of the workspace, each behind the folder of its sources.
pub(crate) fn roots() -> Vec<(PathBuf, PathBuf)> {
    let mut packages = entries(&root().join("crates"));
    packages.extend(["cli", "conformance", "benches"].map(|name| root().join(name)));
    packages.extend(entries(&root().join("benches")));
    let mut roots = Vec::new();
    for source in packages.iter().map(|package| package.join("src")).filter(|source| source.is_dir()) {
        let mut files = vec![source.join("lib.rs"), source.join("main.rs")];
        if source.join("bin").is_dir() {
            let programs = entries(&source.join("bin")).into_iter();
            files.extend(programs.map(|program| if program.is_dir() { program.join("main.rs") } else { program }));
        }
        roots.extend(files.into_iter().filter(|file| file.exists()).map(|file| (source.clone(), file)));
    }
    assert!(roots.len() > 20, "the packages are found: {roots:?}");
    roots.sort();
    roots
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    entries.map(|entry| entry.expect("an entry can be read").path()).collect()
}

/// The modules below one root file.
pub(crate) struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

#[derive(Default)]
struct Module {
    file: PathBuf,
    imports: Vec<Import>,
    definitions: BTreeSet<String>,
    paths: Vec<(Vec<String>, usize)>,
    /// The words outside of `use` items.
    words: BTreeSet<String>,
}

struct Import {
    path: Vec<String>,
    /// `*` for a glob.
    alias: String,
    is_reexport: bool,
    line: usize,
}

/// One file uses a name that another one defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    pub(crate) line: usize,
    pub(crate) path: String,
}

/// An import of a name through a module that does not define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detour {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) path: String,
    /// The file that defines the name; `None`: another package, or under another name.
    pub(crate) definer: Option<PathBuf>,
}

/// A file imports a name from another package of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    pub(crate) file: PathBuf,
    /// Begins with the name of the package.
    pub(crate) path: Vec<String>,
    pub(crate) alias: String,
    pub(crate) is_reexport: bool,
}

/// The end of a path.
#[derive(Clone)]
enum Target {
    Module(Vec<String>),
    /// Something defined in this module.
    Item(Vec<String>),
}

impl Crate {
    pub(crate) fn read(root: &Path) -> Self {
        let mut read = Self { modules: BTreeMap::new() };
        read.file(root, Vec::new());
        read
    }

    pub(crate) fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (name, module) in &self.modules {
            let imports = module
                .imports
                .iter()
                .filter(|import| import.alias != "*" && (!import.is_reexport || module.words.contains(&import.alias)));
            let used = imports.map(|import| (&import.path, import.line));
            for (path, line) in used.chain(module.paths.iter().map(|(path, line)| (path, *line))) {
                if let Some(Target::Item(definer)) = self.resolve(name, path, 0) {
                    arrows.extend(self.arrow(module, &definer, line, path.join("::")));
                }
            }
            for import in module.imports.iter().filter(|import| import.alias == "*") {
                let Some(Target::Module(definer)) = self.resolve(name, &import.path, 0) else { continue };
                for word in self.modules[&definer].definitions.intersection(&module.words) {
                    arrows.extend(self.arrow(module, &definer, import.line, word.clone()));
                }
            }
        }
        arrows
    }

    /// The imports that go through a module which only passes the name on. Re-exports may.
    pub(crate) fn detours(&self) -> Vec<Detour> {
        let mut detours = Vec::new();
        for (name, module) in &self.modules {
            let imports = module.imports.iter().filter(|import| !import.is_reexport && import.alias != "*");
            for import in imports.filter(|import| self.is_detour(name, &import.path)) {
                let definer = match self.resolve(name, &import.path, 0) {
                    Some(Target::Module(definer)) => self.modules.get(&definer),
                    Some(Target::Item(definer)) => self.modules.get(&definer).filter(|it| it.defines(&import.path)),
                    None => None,
                };
                let definer = definer.map(|definer| definer.file.clone());
                let (file, path) = (module.file.clone(), import.path.join("::"));
                detours.push(Detour { file, line: import.line, path, definer });
            }
        }
        detours
    }

    /// True if a module on the path imports the next name of it.
    fn is_detour(&self, from: &[String], path: &[String]) -> bool {
        let Some((mut at, mut rest)) = start(from, path) else { return false };
        let mut is_local = rest.len() < path.len();
        while let Some((first, more)) = rest.split_first() {
            let here = &self.modules[&at];
            let child: Vec<_> = at.iter().chain([first]).cloned().collect();
            let is_child = self.modules.contains_key(&child);
            if !is_local && !is_child {
                return false;
            }
            let (is_imported, is_defined) = (here.named(first).next().is_some(), here.definitions.contains(first));
            // The same order as in `lookup`.
            let leads_on = is_child && (!more.is_empty() || !(is_imported || is_defined));
            if !leads_on {
                let is_globbed = || !is_defined && self.lookup(&at, first, more.is_empty(), 0).is_some();
                return is_imported || is_globbed();
            }
            (at, rest, is_local) = (child, more, true);
        }
        false
    }

    /// The imports from other packages of the workspace.
    pub(crate) fn foreign(&self) -> Vec<Foreign> {
        let all = self.modules.values().flat_map(|module| module.imports.iter().map(move |import| (module, import)));
        let foreign = all.filter(|(_, import)| import.path[0].starts_with("protomcp_"));
        foreign
            .map(|(module, Import { path, alias, is_reexport, .. })| Foreign {
                file: module.file.clone(),
                path: path.clone(),
                alias: alias.clone(),
                is_reexport: *is_reexport,
            })
            .collect()
    }

    /// The names that the root re-exports from its own modules.
    pub(crate) fn exports(&self) -> Vec<String> {
        let imports = self.modules[&Vec::new()].imports.iter().filter(|import| import.is_reexport);
        imports.filter(|import| !import.path[0].starts_with("protomcp_")).map(|import| import.alias.clone()).collect()
    }

    fn arrow(&self, module: &Module, definer: &[String], line: usize, path: String) -> Option<Arrow> {
        let (from, to) = (module.file.clone(), self.modules[definer].file.clone());
        (from != to).then_some(Arrow { from, to, line, path })
    }

    fn file(&mut self, file: &Path, name: Vec<String>) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let code: Vec<_> = tokens(&text).into_iter().filter(|token| token.kind != Kind::Comment).collect();
        let stem = file.file_stem().expect("a file has a name");
        let parent = file.parent().expect("a file is in a folder");
        let is_root = name.is_empty() || stem == "mod";
        let folder = if is_root { parent.to_path_buf() } else { parent.join(stem) };
        let mut reader = Reader { code: &code, at: 0, file, folder, children: Vec::new(), modules: &mut self.modules };
        reader.module(name);
        for (file, name) in reader.children {
            self.file(&file, name);
        }
    }

    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Target> {
        let (mut at, mut rest) = start(from, path)?;
        let mut is_local = rest.len() < path.len();
        while let Some((first, more)) = rest.split_first() {
            match self.lookup(&at, first, more.is_empty(), depth) {
                Some(Target::Module(next)) => at = next,
                Some(item) => return Some(item),
                // Made by a macro of that module, most likely.
                None if is_local => return Some(Target::Item(at)),
                None => return None,
            }
            (rest, is_local) = (more, true);
        }
        is_local.then_some(Target::Module(at))
    }

    /// A name inside a module. Of an item and a module with one name, the last part of a path means the item.
    fn lookup(&self, module: &[String], name: &str, is_last: bool, depth: usize) -> Option<Target> {
        if depth > 16 {
            return None;
        }
        let here = self.modules.get(module)?;
        let mut child = module.to_vec();
        child.push(name.to_owned());
        let child = self.modules.contains_key(&child).then_some(Target::Module(child));
        let defined = || here.definitions.contains(name).then(|| Target::Item(module.to_vec()));
        let imported = || here.named(name).find_map(|import| self.resolve(module, &import.path, depth + 1));
        let globbed = || {
            let mut globs = here.imports.iter().filter(|import| import.alias == "*");
            globs.find_map(|import| match self.resolve(module, &import.path, depth + 1)? {
                Target::Module(from) => self.lookup(&from, name, is_last, depth + 1),
                Target::Item(_) => None,
            })
        };
        if is_last {
            imported().or_else(defined).or(child).or_else(globbed)
        } else {
            child.or_else(imported).or_else(defined).or_else(globbed)
        }
    }
}

impl Module {
    /// The imports of a name, without globs.
    fn named(&self, name: &str) -> impl Iterator<Item = &Import> {
        let named = self.imports.iter().filter(move |import| import.alias == name);
        named.filter(move |import| import.path.len() > 1 || import.path[0] != name)
    }

    /// True if the item of a path is defined here.
    fn defines(&self, path: &[String]) -> bool {
        path.iter().any(|name| self.definitions.contains(name))
    }
}

/// The module that `crate`, `super` and `self` at the beginning of a path lead to, and the rest of the path.
fn start<'a>(from: &[String], path: &'a [String]) -> Option<(Vec<String>, &'a [String])> {
    let (mut at, mut rest) = (from.to_vec(), path);
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()?),
            "self" => {}
            _ => break,
        }
        rest = more;
    }
    Some((at, rest))
}

/// Reads the tokens of one file.
struct Reader<'a> {
    code: &'a [Token<'a>],
    at: usize,
    file: &'a Path,
    /// The folder of the modules that this file declares.
    folder: PathBuf,
    children: Vec<(PathBuf, Vec<String>)>,
    modules: &'a mut BTreeMap<Vec<String>, Module>,
}

impl<'a> Reader<'a> {
    /// Reads up to the brace that closes the module, or to the end of the file.
    fn module(&mut self, name: Vec<String>) {
        let mut module = Module { file: self.file.to_path_buf(), ..Module::default() };
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            match token.text {
                "#" if token.kind == Kind::Mark => self.attribute(),
                "{" if token.kind == Kind::Mark => (depth, self.at) = (depth + 1, self.at + 1),
                "}" if token.kind == Kind::Mark && depth == 0 => break,
                "}" if token.kind == Kind::Mark => (depth, self.at) = (depth - 1, self.at + 1),
                // `+ use<'a>` in the bounds of a type is not an import.
                "use" if token.kind == Kind::Word && !self.sees(1, "<") => self.import(&mut module),
                "mod" if token.kind == Kind::Word => self.child(&name),
                _ if token.kind == Kind::Word => self.word(&mut module, depth),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.modules.insert(name, module);
    }

    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.code.get(self.at + ahead).copied()
    }

    fn sees(&self, ahead: usize, text: &str) -> bool {
        self.peek(ahead).is_some_and(|token| token.is(text))
    }

    /// An attribute, together with its item if that is for tests alone.
    fn attribute(&mut self) {
        self.at += if self.sees(1, "!") { 2 } else { 1 };
        let start = self.at;
        self.group();
        let inside = &self.code[start..self.at];
        let has = |word| inside.iter().any(|token| token.is(word));
        if has("cfg") && has("test") && !has("not") {
            self.item();
        }
    }

    /// Skips one group of brackets, or one token.
    fn group(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            if token.kind == Kind::Mark {
                match token.text {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth -= 1,
                    _ => {}
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips one item.
    fn item(&mut self) {
        let mut is_import = false;
        while let Some(token) = self.peek(0) {
            is_import |= token.is("use");
            let ends = token.is(";") || (token.is("{") && !is_import);
            self.group();
            if ends {
                return;
            }
        }
    }

    fn child(&mut self, parent: &[String]) {
        let Some(child) = self.peek(1) else { return self.at += 1 };
        let text = child.text.to_owned();
        let mut name = parent.to_vec();
        name.push(text.clone());
        self.at += 3;
        if self.code[self.at - 1].is("{") {
            let folder = self.folder.join(&text);
            let outer = std::mem::replace(&mut self.folder, folder);
            self.module(name);
            self.folder = outer;
        } else {
            let flat = self.folder.join(format!("{text}.rs"));
            let deep = self.folder.join(&text).join("mod.rs");
            // Others are generated, and named by an attribute.
            self.children.extend([flat, deep].into_iter().find(|file| file.exists()).map(|file| (file, name)));
        }
    }

    fn import(&mut self, module: &mut Module) {
        let line = self.code[self.at].line;
        let before = self.at.checked_sub(1).map(|before| self.code[before]);
        let is_reexport = before.is_some_and(|token| token.is("pub") || token.is(")"));
        self.at += 1;
        let mut leaves = Vec::new();
        self.tree(&Vec::new(), &mut leaves);
        let imports = leaves.into_iter().map(|(path, alias)| Import { path, alias, is_reexport, line });
        module.imports.extend(imports);
    }

    /// One tree of a `use` item; ends at the comma, brace or semicolon behind it.
    fn tree(&mut self, prefix: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
        let mut path = prefix.to_vec();
        while let Some(token) = self.peek(0).map(|token| (token.kind, token.text.to_owned())) {
            match (token.0, token.1.as_str()) {
                (_, "," | "}" | ";") => break,
                (_, "{") => {
                    self.at += 1;
                    while !self.sees(0, "}") && self.peek(0).is_some() {
                        self.tree(&path, leaves);
                        self.at += usize::from(self.sees(0, ","));
                    }
                    self.at += 1;
                    return;
                }
                (_, "*") => leaves.push((path.clone(), "*".to_owned())),
                (_, "as") => {
                    let alias = self.peek(1).expect("a name follows `as`").text.to_owned();
                    leaves.push((path.clone(), alias));
                    self.at += 1;
                }
                (Kind::Word, "self") if !path.is_empty() => leaves.push((path.clone(), path[path.len() - 1].clone())),
                (Kind::Word, word) => {
                    path.push(word.to_owned());
                    if !self.sees(1, "::") && !self.sees(1, "as") {
                        leaves.push((path.clone(), word.to_owned()));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// A definition, a path, or a word on its own.
    fn word(&mut self, module: &mut Module, depth: usize) {
        const DEFINES: &[&str] = &["fn", "struct", "enum", "trait", "union", "type", "const", "static", "macro_rules"];
        let token = self.code[self.at];
        if depth == 0 && DEFINES.contains(&token.text) {
            let name = (1..4).filter_map(|ahead| self.peek(ahead)).find(|next| {
                next.kind == Kind::Word && !["mut", "fn", "unsafe", "extern", "async"].contains(&next.text)
            });
            module.definitions.extend(name.map(|name| name.text.to_owned()));
            self.at += 1;
            return;
        }
        let follows = self.at.checked_sub(1).is_some_and(|at| self.code[at].is("::") || self.code[at].is("."));
        let mut path = vec![token.text.to_owned()];
        self.at += 1;
        while self.sees(0, "::") && self.peek(1).is_some_and(|next| next.kind == Kind::Word) {
            path.push(self.code[self.at + 1].text.to_owned());
            self.at += 2;
        }
        module.words.extend(path.iter().cloned());
        if path.len() > 1 && !follows {
            module.paths.push((path, token.line));
        }
    }
}
