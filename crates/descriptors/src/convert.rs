//! JSON Schema of tools to protobuf and back.
//!
//! A message that comes out accepts the JSON that the schema accepts, in the same form: a part that protobuf cannot
//! express becomes a `google.protobuf.Value`, `Struct` or `ListValue`. A keyword that no rule expresses is not checked. The
//! report names both. Three things hold for every message, and are not reported: keys are refused where a schema is silent
//! about them, a `format` that has a rule is checked, and integers without bounds have 64 bits. Lists and maps that may be
//! empty, and values that may be null, are reported: protobuf does not tell these from missing ones.

mod descriptor_set;
mod field_names;
mod from_json;
mod json_schema;
mod keywords;
mod literal;
mod lock;
mod model;
mod names;
mod read_rules;
mod reference;
mod regex;
mod report;
mod rules;
mod scalars;
mod size;
mod text;

pub use from_json::{ConvertError, Converted, Converter, Style};
pub use json_schema::to_json_schema;
pub use lock::{FieldLock, LockError};
pub use reference::local_pointer;
pub use report::{Loss, Report, Verdict};
