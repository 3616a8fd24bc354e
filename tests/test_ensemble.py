"""Several temporal models as one: the mean of their scores (cogmap/temporal/ensemble.py)."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from test_temporal_model import TAUS, points, untrained

import cogmap
from cogmap.agent import Agent
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.temporal.ensemble import Ensemble, member_folders, together
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.scorer import LearnedScorer
from cogmap.temporal.train import main as train_alone


def several(count: int, *, tied: bool = False) -> list[TemporalModel]:
    """Models of one shape with weights, and betas, of their own."""
    models = [untrained(tied=tied) for _ in range(count)]
    for number, model in enumerate(models):
        generator = torch.Generator().manual_seed(number)
        for weights in model.parameters():
            weights += 0.3 * torch.randn(weights.shape, generator=generator)
    return models


@pytest.mark.parametrize("tied", [True, False])
def test_the_raw_score_of_several_models_is_the_mean_of_theirs(tied):
    models = several(3, tied=tied)
    x, y = points(5, seed=5), points(7, seed=6)
    each = torch.stack([model.raw_pair_score(x, y, TAUS) for model in models])
    assert each.std(0).min() > 0.01  # they do not say the same
    found = Ensemble(models).raw_pair_score(x, y, TAUS)
    torch.testing.assert_close(found, each.mean(0), rtol=1e-4, atol=1e-3)


def test_embeddings_of_several_models_have_unit_length():
    model = Ensemble(several(2))
    horizon = model.horizon(TAUS)
    x = points(4, seed=5)
    for trunk, head in (
        (model.source_trunk, model.source_head),
        (model.target_trunk, model.target_head),
    ):
        length = head(trunk(x), horizon).norm(dim=-1)
        torch.testing.assert_close(length, torch.ones(4, len(TAUS)))


def test_scores_of_several_models_average_to_a_likelihood_over_the_bank():
    model = Ensemble(several(2))
    x = points(6, seed=5)
    for tau in (1, 64, 8192):
        mass = (model.pair_score(x, model.bank, tau).exp() * model.bank_log_share.exp()).sum(-1)
        torch.testing.assert_close(mass, torch.ones(6), rtol=1e-4, atol=1e-4)


def test_a_scorer_of_several_models_scores_as_they_do_together():
    model = Ensemble(several(2))
    x, goal = points(6, seed=5), points(1, seed=6)
    scorer = LearnedScorer(model, TAUS)
    found = scorer.score(x[None], scorer.embed_goals(goal)[None])[0]
    wanted = torch.cat([model.pair_score(x, goal, int(tau)) for tau in TAUS], dim=1)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-3)


def test_several_copies_of_a_model_score_as_it_does():
    model = several(1)[0]
    x, goal = points(6, seed=5), points(1, seed=6)[0]
    copies = Ensemble([model, model, model])
    wanted = model.goal_score(x, goal, TAUS)
    torch.testing.assert_close(copies.goal_score(x, goal, TAUS), wanted, rtol=1e-4, atol=1e-3)


def test_one_model_is_itself():
    model = several(1)[0]
    assert together([model]) is model


SETTINGS = cogmap.RunSettings(
    temporal=cogmap.TemporalTraining(
        steps=3, tau_max=8, batch=16, width=16, embedding=8, tied=False, members=2
    ),
    dynamics=cogmap.DynamicsTraining(steps=3, width=16),
    seed=5,
    device="cpu",
)


def logs(folder, observations: np.ndarray):
    actions = np.zeros((len(observations), 2), np.float32)
    starts = np.arange(0, len(observations), 50)
    Trajectories(episode_starts=starts, observations=observations, actions=actions).save(folder)
    return folder


@pytest.fixture
def walk(tmp_path):
    steps = np.random.default_rng(0).normal(size=(400, 3)).astype(np.float32)
    return logs(tmp_path / "data", steps.cumsum(0))


def test_a_run_of_several_members_learns_each_from_a_seed_of_its_own(tmp_path, walk):
    trained = cogmap.train(None, SETTINGS, tmp_path / "run", data=walk)
    loaded = Agent.load(tmp_path / "run", device="cpu")
    first, second = (
        (tmp_path / "run" / name / "model.safetensors").read_bytes() for name in member_folders(2)
    )
    assert first != second
    x = torch.randn(5, 3)
    goal = torch.randn(3)
    taus = torch.tensor([1, 4, 8])
    alone = dataclasses.replace(
        SETTINGS, temporal=dataclasses.replace(SETTINGS.temporal, members=1)
    )
    one = cogmap.train(None, alone, tmp_path / "alone", data=walk)
    assert (tmp_path / "alone" / "temporal" / "model.safetensors").read_bytes() == first
    found = loaded.temporal.goal_score(x, goal, taus)
    torch.testing.assert_close(found, trained.temporal.goal_score(x, goal, taus))
    assert not torch.allclose(found, one.temporal.goal_score(x, goal, taus))


def test_a_run_that_lost_a_member_is_resumed_to_the_same(tmp_path, walk):
    wanted = cogmap.train(None, SETTINGS, tmp_path / "run", data=walk)
    for file in (tmp_path / "run" / "temporal-1").iterdir():
        file.unlink()
    cogmap.resume(tmp_path / "run")
    found = Agent.load(tmp_path / "run", device="cpu").temporal.state_dict()
    for name, value in wanted.temporal.state_dict().items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=0)


@pytest.mark.parametrize(
    "told, why",
    [
        ({"members": 2}, "members=2: each would see pictures otherwise"),
        ({"members": 1, "noise": 0.1}, "noise=0.1: looks that are still learned have no spread"),
    ],
)
def test_what_needs_a_sight_is_refused_without_one_before_anything_is_written(told, why, tmp_path):
    pictures = np.zeros((100, 16, 16, 3), np.uint8)
    data = logs(tmp_path / "data", pictures)
    settings = dataclasses.replace(
        SETTINGS, temporal=dataclasses.replace(SETTINGS.temporal, **told)
    )
    with pytest.raises(CogmapError, match=why):
        cogmap.train(None, settings, tmp_path / "run", data=data)
    assert not (tmp_path / "run").exists()


def test_a_training_alone_takes_one_member(tmp_path, walk):
    config = tmp_path / "config.json"
    told = {"data": str(walk), "out": str(tmp_path / "out"), "members": 2, "device": "cpu"}
    config.write_text(json.dumps(told))
    with pytest.raises(CogmapError, match="members=2; one is trained here at a time"):
        train_alone(str(config))
    assert not (tmp_path / "out").exists()


def test_no_members_are_refused():
    with pytest.raises(CogmapError, match="members=0; give at least 1"):
        cogmap.TemporalTraining(members=0)
