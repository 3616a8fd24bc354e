"""Small Gymnasium environments that tests name as module:Class."""

import gymnasium
import numpy as np
from gymnasium import spaces

SIZE = 11


class Line(gymnasium.Env):
    """A line of eleven places: left or right."""

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode=None, length: int = SIZE):
        self.render_mode, self.length = render_mode, length
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(self.length))
        return self.seen(), {}

    def step(self, action):
        self.place = int(np.clip(self.place + (1 if action == 1 else -1), 0, self.length - 1))
        return self.seen(), 0.0, False, False, {}

    def seen(self):
        return np.array([self.place / (self.length - 1)], np.float32)

    def render(self):
        picture = np.zeros((9, 32, 3), np.uint8)
        picture[:, int(31 * self.place / (self.length - 1))] = 255
        return picture


class Ditch(Line):
    """Ends at its left end, which is no way to anywhere."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.length // 2
        return self.seen(), {}

    def step(self, action):
        seen, reward, _, _, info = super().step(action)
        return seen, reward, self.place == 0, False, info


class Slippery(Line):
    """Every third action is another than was asked for."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.observation_space = spaces.Discrete(self.length)

    def step(self, action):
        slips = self.np_random.random() < 1 / 3
        return super().step(1 - action if slips else action)

    def seen(self):
        return self.place


class Breaking(Line):
    """Raises at one place."""

    def step(self, action):
        if self.place == 5:
            raise RuntimeError("the motor is hot")
        return super().step(action)


class Broken(Line):
    """Raises at every step."""

    def step(self, action):
        raise RuntimeError("no power")


class Wrong(Line):
    """Shows what is no number."""

    def seen(self):
        return np.array([np.nan], np.float32)


class Wider(Line):
    """Shows more than its space says."""

    def seen(self):
        return np.zeros(3, np.float32)


class Told(Line):
    """Its space is of a kind that has no numbers."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.observation_space = spaces.Text(5)


class Reach(Line):
    """A goal environment: where to be is part of what is seen, and fixed in an episode."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        place = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.observation_space = spaces.Dict(
            {"observation": place, "achieved_goal": place, "desired_goal": place}
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wanted = np.array([self.np_random.integers(SIZE) / (SIZE - 1)], np.float32)
        return self.seen(), {}

    def seen(self):
        here = super().seen()
        wanted = getattr(self, "wanted", here)
        return {"observation": here, "achieved_goal": here, "desired_goal": wanted}

    def compute_reward(self, achieved, desired, info):
        return -float(np.abs(achieved - desired).max() > 0.01)


class Paid(Reach):
    """The same with 1 at the goal and 0 elsewhere, as some pay."""

    def compute_reward(self, achieved, desired, info):
        return float(np.abs(achieved - desired).max() < 0.01)


class Lamp(Line):
    """Where it is, where a lamp shines, which an episode cannot change, and how far that is."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.observation_space = spaces.Box(-1.0, 1.0, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        self.light = float(self.np_random.random())
        self.place = int(self.np_random.integers(self.length))
        return self.seen(), {}

    def seen(self):
        place = self.place / (self.length - 1)
        return np.array([place, self.light, place - self.light], np.float32)


class Shown(Line):
    """The same line as a picture: a red square before a grey wall."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.observation_space = spaces.Box(0, 255, (32, 32, 3), np.uint8)

    def seen(self):
        picture = np.full((32, 32, 3), 90, np.uint8)
        column = 3 + int(25 * self.place / (self.length - 1))
        picture[14:18, column - 2 : column + 2] = (200, 40, 40)
        return picture


class Hot(Line):
    """Raises once an episode is long."""

    steps = 0

    def reset(self, **kwargs):
        self.steps = 0
        return super().reset(**kwargs)

    def step(self, action):
        self.steps += 1
        if self.steps > 40:
            raise RuntimeError("the motor\nis hot")
        return super().step(action)


class Gone(Line):
    """Does not even reset."""

    def reset(self, *, seed=None, options=None):
        raise OSError("no such robot")


class Later(Line):
    """Shows what is no number, after a while."""

    steps = 0

    def seen(self):
        self.steps += 1
        return np.array([self.place / 10 if self.steps < 90 else np.nan], np.float32)


class Behind(Line):
    """Counts from below zero what its space counts from zero."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.observation_space = spaces.Discrete(SIZE)

    def seen(self):
        return self.place - 1


class Bare(gymnasium.Env):
    """An environment that does not say its spaces."""


class Push(Line):
    """Actions without bounds."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def step(self, action):
        return super().step(int(action[0] > 0))


class Silent(Reach):
    """A goal environment that pays nothing and tells nothing."""

    compute_reward = None
