//! The messages of tools by definition, and the field numbers of tools by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use bytes::Bytes;
use protomcp_descriptors::convert::FieldLock;
use protomcp_types::RawJson;
use tokio::sync::OnceCell;

use crate::schemas::ToolMessages;

/// The most definitions.
const MAX_DEFINITIONS: usize = 1024;

/// The most bytes of all definitions.
const MAX_BYTES: usize = 64 << 20;

/// The most definitions of one name: servers behind a gateway, and sessions, may see different ones.
const MAX_VERSIONS: usize = 8;

/// The most fields with a number under one name. Beyond, numbers begin again.
const MAX_NUMBERS: usize = 16_384;

/// The messages that are wanted of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    /// The name of the input; `None`: the one that follows from the schema.
    pub(super) input: Option<String>,
    pub(super) output: Option<String>,
    /// The JSON Schema of results that have no message.
    pub(super) output_schema: Option<String>,
    /// The reference to the input.
    pub(super) bsr_ref: Option<String>,
}

/// The JSON Schemas of a tool.
#[derive(Debug, Clone)]
pub(super) struct JsonSchemas {
    pub(super) input: RawJson,
    pub(super) output: Option<RawJson>,
}

impl JsonSchemas {
    /// Their length in bytes.
    pub(super) fn len(&self) -> usize {
        self.input.len() + self.output.as_ref().map_or(0, RawJson::len)
    }
}

impl PartialEq for JsonSchemas {
    fn eq(&self, other: &Self) -> bool {
        same(self.input.bytes(), other.input.bytes())
            && match (&self.output, &other.output) {
                (Some(ours), Some(theirs)) => same(ours.bytes(), theirs.bytes()),
                (ours, theirs) => ours.is_none() && theirs.is_none(),
            }
    }
}

/// The parts of a tool that its messages depend on.
#[derive(Debug, Clone)]
pub(super) enum Definition {
    /// JSON Schemas.
    Json(JsonSchemas),
    /// A descriptor set, and the messages in it.
    Set { set: Bytes, wanted: Wanted },
}

impl Definition {
    /// The memory that it takes, about.
    fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Json(schemas) => schemas.len(),
            Self::Set { set, wanted } => {
                let Wanted { input, output, output_schema, bsr_ref } = wanted;
                set.len() + text(input) + text(output) + text(output_schema) + text(bsr_ref)
            }
        }
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(ours), Self::Json(theirs)) => ours == theirs,
            (Self::Set { set, wanted }, Self::Set { set: theirs, wanted: other }) => {
                wanted == other && same(set, theirs)
            }
            _ => false,
        }
    }
}

/// True for equal bytes. Usually they are the same ones.
fn same(one: &Bytes, other: &Bytes) -> bool {
    (one.as_ptr(), one.len()) == (other.as_ptr(), other.len()) || one == other
}

/// The messages of a definition, once they are made. All who ask at the same time wait for one that makes them.
pub(super) type Cell = Arc<OnceCell<Arc<dyn ToolMessages>>>;

/// A definition that is kept.
pub(super) struct Known {
    pub(super) cell: Cell,
    /// The field numbers of the tool's messages, in all versions of its definition: a client with an older version must not
    /// mistake one field for another.
    pub(super) numbers: Arc<Mutex<FieldLock>>,
}

/// All definitions.
#[derive(Default)]
pub(super) struct Definitions(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    tools: HashMap<String, Versions>,
    definitions: usize,
    bytes: usize,
    uses: u64,
}

#[derive(Default)]
struct Versions {
    numbers: Arc<Mutex<FieldLock>>,
    all: Vec<Version>,
}

struct Version {
    definition: Definition,
    cell: Cell,
    used: u64,
}

impl Definitions {
    /// The definition of a tool, which is kept from now on.
    pub(super) fn entry(&self, tool: &str, definition: &Definition) -> Known {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.uses += 1;
        let uses = inner.uses;
        if let Some(versions) = inner.tools.get_mut(tool)
            && let Some(version) = versions.all.iter_mut().find(|version| version.definition == *definition)
        {
            version.used = uses;
            return Known { cell: Arc::clone(&version.cell), numbers: Arc::clone(&versions.numbers) };
        }
        inner.add(tool, definition)
    }
}

impl Inner {
    fn add(&mut self, tool: &str, definition: &Definition) -> Known {
        let bytes = definition.bytes();
        // A definition that is too large for all is kept alone.
        while self.definitions >= MAX_DEFINITIONS || (self.definitions > 0 && self.bytes + bytes > MAX_BYTES) {
            self.evict();
        }
        let versions = self.tools.entry(tool.to_owned()).or_default();
        if versions.all.len() >= MAX_VERSIONS
            && let Some(oldest) = (0..versions.all.len()).min_by_key(|at| versions.all[*at].used)
        {
            self.bytes -= versions.all.swap_remove(oldest).definition.bytes();
            self.definitions -= 1;
        }
        // They are locked while a schema is converted, which takes long, and all tools would wait here.
        let numbers = match versions.numbers.try_lock() {
            Ok(numbers) => numbers.len(),
            Err(TryLockError::Poisoned(error)) => error.into_inner().len(),
            Err(TryLockError::WouldBlock) => 0,
        };
        if numbers > MAX_NUMBERS {
            versions.numbers = Arc::default();
        }
        let cell = Cell::default();
        let (definition, used) = (definition.clone(), self.uses);
        versions.all.push(Version { definition, cell: Arc::clone(&cell), used });
        self.definitions += 1;
        self.bytes += bytes;
        Known { cell, numbers: Arc::clone(&versions.numbers) }
    }

    /// Forgets the definition that was not used for the longest time.
    fn evict(&mut self) {
        let last_use = |versions: &Versions| versions.all.iter().map(|version| version.used).min();
        let oldest = self.tools.iter().filter_map(|(tool, versions)| Some((last_use(versions)?, tool))).min();
        let Some((used, tool)) = oldest.map(|(used, tool)| (used, tool.clone())) else { return };
        if let Some(versions) = self.tools.get_mut(&tool) {
            let oldest = versions.all.iter().position(|version| version.used == used);
            if let Some(version) = oldest.map(|at| versions.all.swap_remove(at)) {
                self.bytes -= version.definition.bytes();
                self.definitions -= 1;
            }
            if versions.all.is_empty() {
                self.tools.remove(&tool);
            }
        }
    }
}

impl std::fmt::Debug for Definitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Definitions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(number: usize) -> Definition {
        let input = RawJson::parse(format!("{{\"maxProperties\":{number}}}")).unwrap();
        Definition::Json(JsonSchemas { input, output: None })
    }

    #[test]
    fn a_definition_is_found_by_its_content() {
        let known = Definitions::default();
        let first = known.entry("a", &json(1));
        assert!(Arc::ptr_eq(&first.cell, &known.entry("a", &json(1)).cell));
        let second = known.entry("a", &json(2));
        assert!(!Arc::ptr_eq(&first.cell, &second.cell) && Arc::ptr_eq(&first.numbers, &second.numbers));
        assert!(!Arc::ptr_eq(&first.numbers, &known.entry("b", &json(1)).numbers));
    }

    #[test]
    fn a_conversion_holds_up_no_other_definition() {
        let known = Definitions::default();
        let first = known.entry("a", &json(1));
        let _converting = first.numbers.lock().unwrap();
        assert!(Arc::ptr_eq(&known.entry("a", &json(2)).numbers, &first.numbers));
    }

    #[test]
    fn large_definitions_are_fewer() {
        let known = Definitions::default();
        for number in 0..100_u8 {
            let set = Bytes::from(vec![number; 4 << 20]);
            known.entry(&format!("tool{}", number % 30), &Definition::Set { set, wanted: Wanted::default() });
            let inner = known.0.lock().unwrap();
            let held: Vec<_> = inner.tools.values().flat_map(|versions| &versions.all).collect();
            assert_eq!(held.iter().map(|version| version.definition.bytes()).sum::<usize>(), inner.bytes);
            assert_eq!(held.len(), inner.definitions);
            assert_eq!(inner.definitions, usize::from(number + 1).min(MAX_BYTES / (4 << 20)));
        }
    }

    #[test]
    fn the_definitions_that_were_used_last_stay() {
        let known = Definitions::default();
        let kept = known.entry("kept", &json(0));
        for number in 0..3 * MAX_DEFINITIONS {
            known.entry(&format!("tool{}", number / 20), &json(number));
            assert!(Arc::ptr_eq(&kept.cell, &known.entry("kept", &json(0)).cell));
        }
        let inner = known.0.lock().unwrap();
        let count: usize = inner.tools.values().map(|versions| versions.all.len()).sum();
        assert_eq!(count, inner.definitions);
        assert!(count <= MAX_DEFINITIONS && inner.tools.values().all(|versions| versions.all.len() <= MAX_VERSIONS));
    }
}
