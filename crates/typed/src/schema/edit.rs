//! Changes of an inferred schema.

use protomcp_schema::{did_you_mean, local_fragment};
use serde_json::{Map, Value, json};

use crate::definition::DefinitionError;

/// A change of a schema, at any depth. Build one with [`property`] or [`root`].
///
/// ```
/// use protomcp_typed::property;
/// use serde_json::json;
///
/// // The argument `count`:
/// property("count").describe("size of the inventory");
/// // The member `status` of each element of `items`, which may be 0 or 1:
/// property("items").elements().property("status").one_of([0, 1]).describe("0: normal, 1: completed");
/// // Any keyword of JSON Schema:
/// property("choices").set("uniqueItems", true).required(false);
/// // Another schema altogether:
/// property("when").replace(json!({"type": "string", "format": "date"}));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaPatch {
    path: Vec<Step>,
    changes: Vec<(usize, Change)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Property(String),
    Elements,
    Values,
}

#[derive(Debug, Clone, PartialEq)]
enum Change {
    Set(String, Value),
    Remove(String),
    Replace(Value),
    Required(bool),
}

/// Changes one property of an object.
#[must_use]
pub fn property(name: impl Into<String>) -> SchemaPatch {
    root().property(name)
}

/// Changes the schema itself.
#[must_use]
pub fn root() -> SchemaPatch {
    SchemaPatch { path: Vec::new(), changes: Vec::new() }
}

impl SchemaPatch {
    /// Continues with a property of the current place.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>) -> Self {
        self.path.push(Step::Property(name.into()));
        self
    }

    /// Continues with the elements of an array.
    #[must_use]
    pub fn elements(mut self) -> Self {
        self.path.push(Step::Elements);
        self
    }

    /// Continues with the values of a map.
    #[must_use]
    pub fn values(mut self) -> Self {
        self.path.push(Step::Values);
        self
    }

    /// Sets the description, for the model.
    #[must_use]
    pub fn describe(self, text: impl Into<String>) -> Self {
        self.set("description", text.into())
    }

    /// Allows these values only.
    #[must_use]
    pub fn one_of(self, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        self.set("enum", values.into_iter().map(Into::into).collect::<Vec<Value>>())
    }

    /// Sets whether a property is required.
    #[must_use]
    pub fn required(self, required: bool) -> Self {
        self.then(Change::Required(required))
    }

    /// Sets any keyword.
    #[must_use]
    pub fn set(self, keyword: impl Into<String>, value: impl Into<Value>) -> Self {
        self.then(Change::Set(keyword.into(), value.into()))
    }

    /// Removes a keyword.
    #[must_use]
    pub fn remove(self, keyword: impl Into<String>) -> Self {
        self.then(Change::Remove(keyword.into()))
    }

    /// Replaces the schema of the current place.
    #[must_use]
    pub fn replace(self, schema: impl Into<Value>) -> Self {
        self.then(Change::Replace(schema.into()))
    }

    fn then(mut self, change: Change) -> Self {
        self.changes.push((self.path.len(), change));
        self
    }

    /// Changes `schema`. `owner` is named in the error.
    pub(crate) fn apply(&self, schema: &mut Value, owner: &str) -> Result<(), DefinitionError> {
        if self.changes.is_empty() {
            // A path to a missing place is an error even if it changes nothing.
            self.find(schema, self.path.len(), owner)?;
        }
        for (depth, change) in &self.changes {
            let place = self.find(schema, *depth, owner)?;
            match (change, self.path[..*depth].last()) {
                (Change::Required(required), Some(Step::Property(name))) => {
                    let parent = self.parent(schema, *depth, owner)?;
                    require(object(schema, &parent), name, *required);
                }
                (Change::Required(_), _) => {
                    return Err(self.nowhere(owner, *depth, "only a property can be required".to_owned()));
                }
                (Change::Set(keyword, value), _) => {
                    object(schema, &place).insert(keyword.clone(), value.clone());
                }
                (Change::Remove(keyword), _) => {
                    object(schema, &place).remove(keyword);
                }
                (Change::Replace(other), _) => {
                    if let Some(place) = schema.pointer_mut(&place) {
                        *place = other.clone();
                    }
                }
            }
        }
        Ok(())
    }

    /// The JSON pointer to the place after the first `depth` steps.
    fn find(&self, schema: &Value, depth: usize, owner: &str) -> Result<String, DefinitionError> {
        let mut place = String::new();
        for (index, step) in self.path[..depth].iter().enumerate() {
            place = match step {
                Step::Property(name) => {
                    let place = with_property(schema, &place, name).map_err(|why| self.nowhere(owner, index, why))?;
                    format!("{place}/properties/{}", escape(name))
                }
                Step::Elements => keyword(schema, &place, "items").map_err(|why| self.nowhere(owner, index, why))?,
                Step::Values => {
                    keyword(schema, &place, "additionalProperties").map_err(|why| self.nowhere(owner, index, why))?
                }
            };
        }
        Ok(place)
    }

    /// The object that has the property at the first `depth` steps.
    fn parent(&self, schema: &Value, depth: usize, owner: &str) -> Result<String, DefinitionError> {
        let outer = self.find(schema, depth - 1, owner)?;
        let Step::Property(name) = &self.path[depth - 1] else { return Ok(outer) };
        with_property(schema, &outer, name).map_err(|why| self.nowhere(owner, depth - 1, why))
    }

    fn nowhere(&self, owner: &str, index: usize, why: String) -> DefinitionError {
        let steps = self.path[..index].iter().map(|step| match step {
            Step::Property(name) => format!("/{name}"),
            Step::Elements => "/[]".to_owned(),
            Step::Values => "/*".to_owned(),
        });
        let place: String = steps.collect();
        let place = if place.is_empty() { "/".to_owned() } else { place };
        DefinitionError::NoSuchPlace { owner: owner.to_owned(), place, why }
    }
}

/// The object below `place` that has this property, or the reason why there is none.
fn with_property(schema: &Value, place: &str, name: &str) -> Result<String, String> {
    let candidates = alternatives(schema, place);
    let has = |place: &&String| {
        schema.pointer(&format!("{place}/properties")).is_some_and(|properties| properties.get(name).is_some())
    };
    if let Some(found) = candidates.iter().find(has) {
        return Ok(found.clone());
    }
    let names = candidates
        .iter()
        .filter_map(|place| schema.pointer(&format!("{place}/properties"))?.as_object())
        .flat_map(|properties| properties.keys().map(String::as_str));
    Err(format!("no property {name:?}{}", did_you_mean(name, names)))
}

/// The schema below `place` under this keyword, or the reason why there is none.
fn keyword(schema: &Value, place: &str, keyword: &str) -> Result<String, String> {
    alternatives(schema, place)
        .into_iter()
        .map(|place| format!("{place}/{keyword}"))
        .find(|place| schema.pointer(place).is_some_and(Value::is_object))
        .ok_or_else(|| format!("nothing with {keyword:?}"))
}

/// A schema, the schemas it refers to, and its branches: all may define properties.
fn alternatives(schema: &Value, place: &str) -> Vec<String> {
    let mut places = vec![place.to_owned()];
    let mut next = 0;
    while let Some(place) = places.get(next).cloned() {
        next += 1;
        let Some(Value::Object(object)) = schema.pointer(&place) else { continue };
        let mut more = Vec::new();
        if let Some(target) = object.get("$ref").and_then(Value::as_str).and_then(local_fragment) {
            more.push(target.into_owned());
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let branches = object.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
            more.extend((0..branches).map(|index| format!("{place}/{keyword}/{index}")));
        }
        more.retain(|place| !places.contains(place));
        places.extend(more);
    }
    places
}

/// The schema at `place`; `true` and `false` become equivalent objects.
fn object<'a>(schema: &'a mut Value, place: &str) -> &'a mut Map<String, Value> {
    let place = schema.pointer_mut(place).expect("found just now");
    match place {
        Value::Object(object) => object,
        other => {
            *other = if *other == Value::Bool(false) { json!({"not": {}}) } else { json!({}) };
            other.as_object_mut().expect("made just now")
        }
    }
}

fn require(object: &mut Map<String, Value>, name: &str, required: bool) {
    let list = object.entry("required").or_insert_with(|| json!([]));
    let Value::Array(names) = list else { return };
    names.retain(|other| other != name);
    if required {
        names.push(Value::String(name.to_owned()));
    }
    if names.is_empty() {
        object.remove("required");
    }
}

/// A name in a JSON pointer (RFC 6901).
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
