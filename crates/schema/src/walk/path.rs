//! A place in a value.

use std::rc::Rc;

/// A place in a value, as the steps from its root. Cloning is cheap, and texts are made when they are shown: a name can be
/// as long as the value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path<'a>(Option<Rc<Link<'a>>>);

#[derive(Debug)]
struct Link<'a> {
    parent: Path<'a>,
    step: Step<'a>,
}

/// One step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

/// The longest text for a place, in bytes, and for one name in it.
const LONGEST: usize = 120;
const LONGEST_NAME: usize = 48;

impl<'a> Path<'a> {
    pub(super) fn child(&self, step: Step<'a>) -> Self {
        Self(Some(Rc::new(Link { parent: self.clone(), step })))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The steps, from the root.
    pub(crate) fn steps(&self) -> Vec<Step<'a>> {
        let mut steps: Vec<_> = self.upwards().collect();
        steps.reverse();
        steps
    }

    /// The place for a person: the end of a JSON pointer, with names that are cut and written without control characters.
    pub(crate) fn describe(&self) -> String {
        let (mut text, mut steps) = (String::new(), self.upwards());
        while let Some(step) = steps.next() {
            text.insert_str(0, &step.describe());
            if text.len() > LONGEST && steps.next().is_some() {
                text.insert(0, '…');
                break;
            }
        }
        text
    }

    fn upwards(&self) -> impl Iterator<Item = Step<'a>> {
        let mut next = self.clone();
        std::iter::from_fn(move || {
            let link = next.0.take()?;
            next = link.parent.clone();
            Some(link.step)
        })
    }
}

impl Step<'_> {
    fn describe(self) -> String {
        match self {
            Self::Element(index) => format!("/{index}"),
            Self::Member(name) => {
                let cut = &name[..name.floor_char_boundary(LONGEST_NAME)];
                let end = if cut.len() < name.len() { "…" } else { "" };
                let escaped = cut.replace('~', "~0").replace('/', "~1");
                let shown = escaped.chars().flat_map(|c| {
                    let is_control = c.is_control();
                    let escape = is_control.then(|| c.escape_default()).into_iter().flatten();
                    escape.chain((!is_control).then_some(c))
                });
                format!("/{}{end}", shown.collect::<String>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_described_by_its_end() {
        let path = |steps: &[Step<'static>]| steps.iter().fold(Path::default(), |path, step| path.child(*step));
        let member = Step::Member;
        for (steps, text) in [
            (vec![], String::new()),
            (vec![member("a"), Step::Element(3), member("b/c~")], "/a/3/b~1c~0".to_owned()),
            (vec![member("a\n- b\u{1b}")], r"/a\n- b\u{1b}".to_owned()),
            (vec![member(Box::leak("é".repeat(100).into_boxed_str()))], format!("/{}…", "é".repeat(24))),
            (vec![member("kids"); 200], format!("…{}", "/kids".repeat(25))),
        ] {
            assert_eq!(path(&steps).describe(), text);
            assert_eq!(path(&steps).steps(), steps);
        }
    }
}
