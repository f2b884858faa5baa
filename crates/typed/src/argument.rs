//! The arguments of a prompt and the variables of a URI template: named strings that a user fills in.

use std::collections::BTreeMap;

use protomcp_schema::did_you_mean;
use protomcp_server::Context;
use protomcp_types::{Complete, Completion, ErrorObject, PromptArgument};
use serde_json::{Value, json};

use crate::completion::{Completer, CompletionFn, matching};
use crate::definition::DefinitionError;
use crate::schema::choices;

/// The description of one argument by the author. Begin with [`argument`].
///
/// ```
/// use protomcp_typed::argument;
///
/// argument("language").describe("the language of the code").complete(async |typed: String| {
///     ["python", "rust"].into_iter().filter(|name| name.starts_with(&typed)).collect::<Vec<_>>()
/// });
/// ```
#[derive(Debug)]
pub struct Argument {
    name: String,
    title: Option<String>,
    description: Option<String>,
    required: Option<bool>,
    choices: Option<Vec<String>>,
    completer: Option<Completer>,
}

/// Describes one argument of a prompt, or one variable of a template.
#[must_use]
pub fn argument(name: impl Into<String>) -> Argument {
    Argument { name: name.into(), title: None, description: None, required: None, choices: None, completer: None }
}

impl Argument {
    /// Sets the title, for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description, for the user.
    #[must_use]
    pub fn describe(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets whether the argument is required.
    #[must_use]
    pub fn required(mut self, required: bool) -> Self {
        self.required = Some(required);
        self
    }

    /// Allows these values only, and suggests them.
    #[must_use]
    pub fn one_of(mut self, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.choices = Some(values.into_iter().map(Into::into).collect());
        self
    }

    /// Suggests values. Without this the values of an enum are suggested.
    #[must_use]
    pub fn complete<S>(mut self, complete: impl CompletionFn<S>) -> Self {
        self.completer = Some(Completer::new(complete));
        self
    }
}

/// All arguments of one prompt or template.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    known: Vec<Known>,
    /// True if any other name is accepted, too.
    open: bool,
}

#[derive(Debug)]
struct Known {
    argument: PromptArgument,
    choices: Vec<String>,
    completer: Option<Completer>,
}

impl Arguments {
    /// From the schema of a type, if it names properties; `None` if there are no arguments.
    pub(crate) fn of(schema: Option<&Value>) -> Self {
        let Some(schema) = schema else { return Self::default() };
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Self { known: Vec::new(), open: true };
        };
        let required = schema.get("required").and_then(Value::as_array);
        let known = properties.iter().map(|(name, schema)| Known {
            argument: PromptArgument {
                name: name.clone(),
                title: schema.get("title").and_then(Value::as_str).map(str::to_owned),
                description: schema.get("description").and_then(Value::as_str).map(str::to_owned),
                required: required.is_some_and(|names| names.contains(&json!(name))),
            },
            choices: choices(schema),
            completer: None,
        });
        Self { known: known.collect(), open: false }
    }

    /// The variables of a template, with the descriptions of the type.
    pub(crate) fn of_template<'a>(names: impl Iterator<Item = &'a str>, typed: Self) -> Result<Self, &'static str> {
        let mut known: Vec<Known> = Vec::new();
        let mut typed = typed;
        for name in names {
            if known.iter().any(|known| known.argument.name == name) {
                continue;
            }
            let place = typed.known.iter().position(|known| known.argument.name == name);
            known.push(match place {
                Some(place) => typed.known.swap_remove(place),
                None => Known { argument: PromptArgument::new(name), choices: Vec::new(), completer: None },
            });
        }
        if typed.known.iter().any(|known| known.argument.required) {
            Err("its handler wants a variable that it does not have")
        } else {
            Ok(Self { known, open: false })
        }
    }

    /// Adds the descriptions of the author.
    pub(crate) fn apply(&mut self, options: Vec<Argument>, owner: &str) -> Result<(), DefinitionError> {
        for option in options {
            let place = self.known.iter().position(|known| known.argument.name == option.name);
            let known = match place {
                Some(place) => &mut self.known[place],
                None if self.open => {
                    let argument = PromptArgument::new(option.name.as_str());
                    self.known.push(Known { argument, choices: Vec::new(), completer: None });
                    self.known.last_mut().expect("pushed just now")
                }
                None => {
                    let hint = did_you_mean(&option.name, self.names());
                    let owner = owner.to_owned();
                    return Err(DefinitionError::NoSuchArgument { owner, argument: option.name, hint });
                }
            };
            let argument = &mut known.argument;
            argument.title = option.title.or(argument.title.take());
            argument.description = option.description.or(argument.description.take());
            argument.required = option.required.unwrap_or(argument.required);
            known.choices = option.choices.unwrap_or(std::mem::take(&mut known.choices));
            known.completer = option.completer;
        }
        // Once some arguments are named, an unknown one is a slip.
        self.open &= self.known.is_empty();
        Ok(())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.argument.name.as_str())
    }

    pub(crate) fn definitions(&self) -> Vec<PromptArgument> {
        self.known.iter().map(|known| known.argument.clone()).collect()
    }

    /// Checks the arguments that a client sends.
    pub(crate) fn check(&self, values: &BTreeMap<String, String>) -> Result<(), String> {
        for (name, value) in values {
            let Some(known) = self.known.iter().find(|known| known.argument.name == *name) else {
                if self.open {
                    continue;
                }
                return Err(format!("unknown argument {name:?}{}", did_you_mean(name, self.names())));
            };
            if !known.choices.is_empty() && !known.choices.contains(value) {
                let hint = did_you_mean(value, known.choices.iter().map(String::as_str));
                return Err(format!("argument {name:?} must be one of {}{hint}", known.choices.join(", ")));
            }
        }
        match self.known.iter().find(|known| known.argument.required && !values.contains_key(&known.argument.name)) {
            Some(missing) => Err(format!("argument {:?} is missing", missing.argument.name)),
            None => Ok(()),
        }
    }

    /// Suggests values. `others` is used if neither the author nor the type has any.
    pub(crate) async fn complete(
        &self,
        request: Complete,
        context: Context,
        others: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<Completion, ErrorObject> {
        let name = &request.argument.name;
        let Some(known) = self.known.iter().find(|known| known.argument.name == *name) else {
            if self.open {
                return Ok(Completion::default());
            }
            let why = format!("invalid params: unknown argument {name:?}{}", did_you_mean(name, self.names()));
            return Err(ErrorObject::invalid_params(why));
        };
        match &known.completer {
            Some(completer) => completer.complete(request, context).await,
            None if known.choices.is_empty() => Ok(matching(others(name), &request.argument.value)),
            None => Ok(matching(known.choices.iter().cloned(), &request.argument.value)),
        }
    }
}
