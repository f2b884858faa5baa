//! Workflows: tools that run in an order which the server defines.
//!
//! The steps are always listed: a client without a session must see the same list in every request (MCP 2026-07-28,
//! server/tools). Instead the first step gives the client a handle, which the other steps expect as an argument, and a
//! step out of order is refused with the steps that can run. A session has the handle of its last run, so that clients
//! with sessions may leave it out.

mod layer;
mod limit;
mod runs;

use std::sync::Arc;

use protomcp_types::{JsonBuf, RawJson};

use crate::definition::DefinitionError;
use crate::tool::Tool;
use crate::tool_selection::ToolSelection;
use crate::workflow::layer::StepLayer;
use crate::workflow::limit::Limit;
use crate::workflow::runs::{HANDLE, Plan, Position, Runs};

/// Tools that run in an order. Its tools are named after the workflow and the step, such as `release_test`; every host
/// accepts such names. One more, `release_cancel`, ends a run.
///
/// ```
/// use protomcp_typed::{Registry, Step, Tool, Workflow};
///
/// # fn main() -> Result<(), protomcp_typed::DefinitionError> {
/// let choose = Tool::new("choose", "Chooses the version").handler(async || "1.2");
/// let test = Tool::new("test", "Runs the tests").handler(async || Err::<&str, _>("two tests fail"));
/// let fix = Tool::new("fix", "Mends what the tests found").handler(async || "mended");
/// let publish = Tool::new("publish", "Publishes").handler(async || "out");
/// let release = Workflow::new("release")
///     .step(Step::new(choose).initial().next(["test"]))
///     .step(Step::new(test).next(["publish"]).on_error(["fix", "test"]))
///     .step(Step::new(fix).next(["test"]))
///     .step(Step::new(publish));
/// let registry = Registry::builder("releases", "1.0").workflow(release).build()?;
/// let names = ["release_cancel", "release_choose", "release_fix", "release_publish", "release_test"];
/// assert_eq!(registry.tools().names(), names);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Workflow {
    name: String,
    steps: Vec<Step>,
    limit: Option<Limit>,
}

/// One step of a [`Workflow`]. A step without [`Step::next`] is a last one.
///
/// ```
/// use protomcp_typed::{Step, Tool};
///
/// let test = Tool::new("test", "Runs the tests").handler(async || "they pass");
/// let step = Step::new(test).next(["publish"]).on_error(["test"]);
/// ```
#[derive(Debug)]
pub struct Step {
    tool: Tool,
    is_initial: bool,
    next: Vec<String>,
    on_error: Option<Vec<String>>,
}

impl Step {
    /// A step that runs this tool. The name of the tool is the name of the step.
    #[must_use]
    pub fn new(tool: Tool) -> Self {
        Self { tool, is_initial: false, next: Vec::new(), on_error: None }
    }

    /// Begins a run.
    #[must_use]
    pub fn initial(mut self) -> Self {
        self.is_initial = true;
        self
    }

    /// Sets the steps that can follow.
    #[must_use]
    pub fn next(mut self, steps: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.next = steps.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the steps that can follow if this one fails. Otherwise the same steps can run as before, and a first step begins no
    /// run.
    #[must_use]
    pub fn on_error(mut self, steps: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.on_error = Some(steps.into_iter().map(Into::into).collect());
        self
    }
}

impl Workflow {
    /// A workflow without steps. The name begins the names of its tools.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), steps: Vec::new(), limit: None }
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Limits the other tools: while a session has a run, its client sees the steps and the other tools with these
    /// names, in which `*` stands for any text, and the rest again when the run has ended. `tools` is the selection of
    /// the registry ([`Builder::selection`](crate::Builder::selection)). Clients without a session see the same list in
    /// every request (MCP 2026-07-28, server/tools).
    ///
    /// ```
    /// use protomcp_typed::{Registry, Step, Tool, ToolSelection, Workflow};
    ///
    /// # fn main() -> Result<(), protomcp_typed::DefinitionError> {
    /// let tools = ToolSelection::default();
    /// let review = Tool::new("review", "Starts the review").handler(async || "reviewing");
    /// let approve = Tool::new("approve", "Approves").handler(async || "approved");
    /// let deploy = Workflow::new("deploy")
    ///     .step(Step::new(review).initial().next(["approve"]))
    ///     .step(Step::new(approve))
    ///     .allow_during(&tools, ["status", "read_*"]);
    /// let registry = Registry::builder("deployments", "1.0").workflow(deploy).selection(&tools).build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn allow_during(mut self, tools: &ToolSelection, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.limit = Some(Limit::new(tools.clone(), names.into_iter().map(Into::into).collect()));
        self
    }

    /// The tools of the steps, and the one that ends a run.
    pub(crate) fn into_tools(self) -> Result<Vec<Tool>, DefinitionError> {
        let Self { name, steps, limit } = self;
        let names: Vec<String> = steps.iter().map(|step| step.tool.name().to_owned()).collect();
        let find = |step: &String| names.iter().position(|known| known == step);
        let all = |steps: &[String]| -> Result<Vec<Position>, DefinitionError> {
            let position = |step| {
                find(step).ok_or_else(|| DefinitionError::UnknownStep { workflow: name.clone(), step: step.clone() })
            };
            steps.iter().map(position).collect()
        };
        let mut plan = Plan { name: name.clone(), steps: Vec::new() };
        for step in &steps {
            let on_error = step.on_error.as_deref().map(all).transpose()?;
            let tool = format!("{name}_{}", step.tool.name());
            plan.steps.push(runs::Step { tool, is_initial: step.is_initial, next: all(&step.next)?, on_error });
        }
        if !plan.steps.iter().any(|step| step.is_initial) {
            return Err(DefinitionError::NoInitialStep(name));
        }
        let cancel = format!("{name}_cancel");
        let limit = limit.map(|mut limit| {
            limit.allow(plan.steps.iter().map(|step| step.tool.clone()).chain([cancel.clone()]));
            Arc::new(limit)
        });
        let runs = Arc::new(Runs::new(plan));
        let tools = steps.into_iter().enumerate().map(|(position, step)| {
            let name = format!("{name}_{}", step.tool.name());
            let layer = StepLayer::step(Arc::clone(&runs), position, limit.clone());
            step.tool.renamed(name).advertise(HANDLE, handle_schema()).layer(layer)
        });
        let mut tools: Vec<Tool> = tools.collect();
        let cancel = Tool::new(cancel, format!("Ends a run of the workflow {name}"));
        let cancel = cancel.handler(async || "").advertise(HANDLE, handle_schema());
        tools.push(cancel.layer(StepLayer::cancel(runs, limit)));
        Ok(tools)
    }
}

fn handle_schema() -> RawJson {
    let about = "The handle that the first step has returned; may be left out in a session";
    JsonBuf::object().text("type", "string").text("description", about).finish().into_raw()
}
