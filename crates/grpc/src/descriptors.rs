//! The proto files of the service, for reflection.

use std::collections::HashMap;
use std::sync::LazyLock;

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// The set that `proto/buf/mcp/v1/mcp.proto` compiles to, with its imports.
const SET: &[u8] = include_bytes!("gen/mcp.binpb");

/// The files, read once.
pub(crate) static FILES: LazyLock<Files> = LazyLock::new(|| {
    let set = FileDescriptorSet::decode(SET).expect("a test compares the committed set with the proto file");
    Files::new(set)
});

/// Files by name and by symbol.
pub(crate) struct Files {
    /// The bytes of each file, and the names of its imports.
    files: HashMap<String, (Vec<u8>, Vec<String>)>,
    /// The file that defines a message, enum, service, method or field.
    symbols: HashMap<String, String>,
}

impl Files {
    fn new(set: FileDescriptorSet) -> Self {
        let (mut files, mut symbols) = (HashMap::new(), HashMap::new());
        for file in set.file {
            for symbol in symbols_of(&file) {
                symbols.insert(symbol, file.name().to_owned());
            }
            files.insert(file.name().to_owned(), (file.encode_to_vec(), file.dependency));
        }
        Self { files, symbols }
    }

    /// A file with all its imports, itself first.
    pub(crate) fn by_name(&self, name: &str) -> Option<Vec<Vec<u8>>> {
        let mut names = vec![self.files.get_key_value(name)?.0];
        let mut at = 0;
        while let Some(name) = names.get(at) {
            let (_, imports) = &self.files[*name];
            let new: Vec<_> = imports.iter().filter(|import| !names.contains(import)).collect();
            names.extend(new);
            at += 1;
        }
        Some(names.into_iter().filter_map(|name| Some(self.files.get(name)?.0.clone())).collect())
    }

    /// The file that defines a symbol, with all its imports.
    pub(crate) fn by_symbol(&self, symbol: &str) -> Option<Vec<Vec<u8>>> {
        self.by_name(self.symbols.get(symbol)?)
    }
}

/// The full names of everything that a file defines.
fn symbols_of(file: &FileDescriptorProto) -> Vec<String> {
    let mut symbols = Vec::new();
    let package = file.package();
    for message in &file.message_type {
        add_message(&mut symbols, package, message);
    }
    symbols.extend(file.enum_type.iter().map(|one| format!("{package}.{}", one.name())));
    for service in &file.service {
        let name = format!("{package}.{}", service.name());
        symbols.extend(service.method.iter().map(|method| format!("{name}.{}", method.name())));
        symbols.push(name);
    }
    symbols
}

fn add_message(symbols: &mut Vec<String>, scope: &str, message: &DescriptorProto) {
    let name = format!("{scope}.{}", message.name());
    for nested in &message.nested_type {
        add_message(symbols, &name, nested);
    }
    symbols.extend(message.enum_type.iter().map(|one| format!("{name}.{}", one.name())));
    symbols.extend(message.field.iter().map(|field| format!("{name}.{}", field.name())));
    symbols.push(name);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use protomcp_testing::assert_committed;

    use super::*;

    #[test]
    fn the_committed_set_is_compiled_from_the_proto_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let set = protox::compile(["buf/mcp/v1/mcp.proto"], [folder.join("../../proto")]).unwrap();
        let mut set = set;
        for file in &mut set.file {
            // Comments are for readers of the proto file.
            file.source_code_info = None;
        }
        assert_committed(folder.join("src/gen/mcp.binpb"), set.encode_to_vec(), "UPDATE_GENERATED");
    }

    #[test]
    fn files_come_with_their_imports() {
        let names = |files: Option<Vec<Vec<u8>>>| {
            let name = |bytes: &Vec<u8>| FileDescriptorProto::decode(&**bytes).unwrap().name().to_owned();
            files.map(|files| files.iter().map(name).collect::<Vec<_>>())
        };
        let all = names(FILES.by_symbol("buf.mcp.v1.MCPService")).unwrap();
        assert_eq!((all.len(), all[0].as_str()), (4, "buf/mcp/v1/mcp.proto"));
        for symbol in ["MCPService.CallTool", "MCPPrompts.GetPrompt", "MCPStreams.Listen", "Tool.name"] {
            let symbol = &format!("buf.mcp.v1.{symbol}");
            assert_eq!(names(FILES.by_symbol(symbol)).unwrap(), all, "{symbol}");
        }
        assert_eq!(names(FILES.by_symbol("google.protobuf.Value.kind")), None);
        assert_eq!(names(FILES.by_name("google/protobuf/any.proto")).unwrap(), ["google/protobuf/any.proto"]);
        assert_eq!(FILES.by_name("other.proto"), None);
    }
}
