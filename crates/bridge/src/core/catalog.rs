//! The resources, templates and prompts of the current process, and the open requests for them.

use std::sync::Arc;

use protomcp_server::Audience;

use crate::catalog::faults::Faults;
use crate::catalog::resources_and_prompts::{Catalog, Kind, Listed};
use crate::core::io::Effect;
use crate::diagnostics::report::Report;
use crate::generation::Generation;

/// The catalog, and the state of the request for each of its lists.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    catalog: Arc<Catalog>,
    questions: [Question; 3],
    /// The last faults of each list: a process that sends the same list again has the same faults.
    faults: [Vec<String>; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Question {
    #[default]
    None,
    Asked,
    /// The list has changed after it was requested.
    AskAgain,
}

/// The changed lists of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Changed {
    resources: bool,
    prompts: bool,
}

impl Changed {
    pub(crate) fn announce(self, fx: &mut Vec<Effect>) {
        if self.resources {
            fx.push(Effect::ResourcesChanged(Audience::Everyone));
        }
        if self.prompts {
            fx.push(Effect::PromptsChanged(Audience::Everyone));
        }
    }
}

impl Catalogs {
    pub(crate) fn current(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Another process is the current one. All its lists were requested; a list without an answer stays as it was.
    /// Lists that have changed since (`renewed`) are requested again.
    pub(crate) fn take_over(
        &mut self,
        generation: Generation,
        listed: Vec<Listed>,
        renewed: &[Kind],
        fx: &mut Vec<Effect>,
    ) -> Changed {
        self.questions = [Question::Asked; 3];
        self.faults = Default::default();
        let (mut changed, mut awaited) = (Changed::default(), [true; 3]);
        for listed in listed {
            self.questions[listed.kind() as usize] = Question::None;
            awaited[listed.kind() as usize] = false;
            self.store(listed, &mut changed, fx);
        }
        self.set_awaited(awaited);
        self.ask(generation, renewed, fx);
        changed
    }

    /// These lists of the process have changed. At most one request for each is open, however often this happens.
    pub(crate) fn ask(&mut self, generation: Generation, kinds: &[Kind], fx: &mut Vec<Effect>) {
        for kind in kinds {
            let question = &mut self.questions[*kind as usize];
            if *question == Question::None {
                *question = Question::Asked;
                fx.push(Effect::RequestList(generation, *kind));
            } else {
                *question = Question::AskAgain;
            }
        }
    }

    /// A request was answered; `None` means without a list, and changes nothing.
    pub(crate) fn answered(
        &mut self,
        generation: Generation,
        kind: Kind,
        listed: Option<Listed>,
        fx: &mut Vec<Effect>,
    ) -> Changed {
        let mut changed = Changed::default();
        if let Some(listed) = listed {
            self.store(listed, &mut changed, fx);
        }
        let mut awaited = self.catalog.awaited();
        awaited[kind as usize] = false;
        self.set_awaited(awaited);
        let question = std::mem::take(&mut self.questions[kind as usize]);
        if question == Question::AskAgain {
            self.ask(generation, &[kind], fx);
        }
        changed
    }

    /// The pages of apps may have other contents.
    pub(crate) fn announce_apps(&self, fx: &mut Vec<Effect>) {
        fx.extend(self.catalog.apps().map(|uri| Effect::ResourceUpdated(uri.to_owned())));
    }

    /// No process will send the lists.
    pub(crate) fn await_nothing(&mut self) {
        self.set_awaited([false; 3]);
    }

    fn set_awaited(&mut self, awaited: [bool; 3]) {
        if self.catalog.awaited() != awaited {
            self.catalog = Arc::new(self.catalog.awaiting(awaited));
        }
    }

    fn store(&mut self, listed: Listed, changed: &mut Changed, fx: &mut Vec<Effect>) {
        let kind = listed.kind();
        let mut faults = Faults::default();
        if let Some(catalog) = self.catalog.with(listed, &mut faults) {
            self.catalog = Arc::new(catalog);
            match kind {
                Kind::Resources | Kind::Templates => changed.resources = true,
                Kind::Prompts => changed.prompts = true,
            }
        }
        let faults = faults.into_lines();
        let notified = &mut self.faults[kind as usize];
        if *notified != faults {
            fx.extend(faults.iter().map(|fault| Effect::Report(Report::Catalog(fault.clone()))));
            *notified = faults;
        }
    }
}
