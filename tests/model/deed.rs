//! What is random in a town: its workspaces, and what is done to which of them.

use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;

use super::case::{self, Accident, Case, Edit, Hand, Kill, Restore, Round};

/// Several workspaces under one checkpoint directory, and a sequence of steps.
#[derive(Clone, Debug)]
pub(crate) struct TownCase {
    /// Names, options and the first tree of each workspace.
    pub(crate) houses: Vec<Case>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Always true to begin with, as for a round.
    pub(crate) is_done: bool,
    /// Chooses the workspace.
    pub(crate) house: u16,
    pub(crate) edits: Vec<Edit>,
    pub(crate) deed: Deed,
}

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Whatever one workspace goes through by itself.
    Round(Round),
    /// A save; whether one is made even if nothing changed.
    Save(bool, Hand),
    Restore(Restore, Accident),
    Verify(Look, Hand),
    /// An id of another workspace is tried.
    Stranger(u16),
    /// The directory is renamed: to its other place, or back.
    Move,
    /// Another directory is put at the same path.
    Replace,
    /// The directory is removed, and comes back by a reset.
    ComeBack(u16, Accident),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Quick,
    Sample,
    Full,
    Worktree,
    Repair,
}

pub(crate) fn town() -> impl Strategy<Value = TownCase> {
    (vec(case::case(0..1), 2..4), vec(step(), 12..18)).prop_map(|(houses, steps)| TownCase { houses, steps })
}

fn step() -> impl Strategy<Value = Step> {
    (weighted(1.0), case::number(), vec(case::edit(), 0..4), deed()).prop_map(|(is_done, house, edits, deed)| Step {
        is_done,
        house,
        edits,
        deed,
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    use Look::*;

    let look = prop_oneof![Just(Quick), Just(Sample), Just(Full), Just(Worktree), Just(Repair)];
    let looker = prop_oneof![3 => Just(Hand::Library), 1 => Just(Hand::Binary(None))];
    prop_oneof![
        4 => case::round().prop_map(Deed::Round),
        4 => (any::<bool>(), kill()).prop_map(|(always, kill)| Deed::Save(always, Hand::Binary(kill))),
        6 => (case::verb(), kill()).prop_map(|(verb, kill)| Deed::Restore(verb, Accident::Binary(kill))),
        3 => (look, looker).prop_map(|(look, hand)| Deed::Verify(look, hand)),
        1 => case::number().prop_map(Deed::Stranger),
        2 => Just(Deed::Move),
        1 => Just(Deed::Replace),
        2 => (case::number(), accident()).prop_map(|(number, accident)| Deed::ComeBack(number, accident)),
    ]
}

fn accident() -> impl Strategy<Value = Accident> {
    prop_oneof![Just(Accident::Nothing), kill().prop_map(Accident::Binary)]
}

/// Half of all runs are killed, if they have as many steps on the file system.
fn kill() -> impl Strategy<Value = Kill> {
    prop_oneof![Just(None), (1_u64..60).prop_map(Some)]
}
