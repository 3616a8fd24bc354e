"""What the paper reports for its mazes (Tables 1, 2 and 4, Fig. 2's text), as data."""

from __future__ import annotations

# Table 1A: (world, tasks) -> planner -> (SR, SPL)
GOAL_REACHING = {
    ("pointmaze-large", "official"): {
        "gp": (0.92, 0.83),
        "pap": (0.75, 0.66),
        "oracle": (1.00, 0.94),
    },
    ("pointmaze-giant", "official"): {
        "gp": (0.76, 0.58),
        "pap": (0.79, 0.64),
        "oracle": (1.00, 0.98),
    },
    ("pointmaze-large", "random"): {
        "gp": (0.97, 0.88),
        "pap": (0.92, 0.83),
        "oracle": (1.00, 0.95),
    },
    ("pointmaze-giant", "random"): {
        "gp": (0.85, 0.75),
        "pap": (0.85, 0.77),
        "oracle": (1.00, 0.95),
    },
}

# Table 1A, baselines on 1M random actions: (world, tasks) -> method -> (SR, SPL)
RIVALS = {
    ("pointmaze-large", "official"): {
        "gciql": (0.00, 0.00),
        "qrl": (0.33, 0.28),
        "hiql": (0.00, 0.00),
        "hilp": (0.49, 0.47),
    },
    ("pointmaze-giant", "official"): {
        "gciql": (0.00, 0.00),
        "qrl": (0.02, 0.01),
        "hiql": (0.00, 0.00),
        "hilp": (0.00, 0.00),
    },
    ("pointmaze-large", "random"): {
        "gciql": (0.15, 0.15),
        "qrl": (0.40, 0.34),
        "hiql": (0.12, 0.11),
        "hilp": (0.47, 0.45),
    },
    ("pointmaze-giant", "random"): {
        "gciql": (0.07, 0.06),
        "qrl": (0.30, 0.25),
        "hiql": (0.10, 0.09),
        "hilp": (0.18, 0.18),
    },
}
# OGBench on its navigate data: world -> method -> SR and its spread over 8 seeds
NAVIGATE = {
    "pointmaze-medium": {
        "gcbc": (0.09, 0.06),
        "gciql": (0.53, 0.08),
        "qrl": (0.82, 0.05),
        "hiql": (0.79, 0.05),
        "crl": (0.29, 0.07),
    },
    "pointmaze-large": {
        "gcbc": (0.29, 0.06),
        "gciql": (0.34, 0.03),
        "qrl": (0.86, 0.09),
        "hiql": (0.58, 0.05),
        "crl": (0.39, 0.07),
    },
    "pointmaze-giant": {
        "gcbc": (0.01, 0.02),
        "gciql": (0.00, 0.00),
        "qrl": (0.68, 0.07),
        "hiql": (0.46, 0.09),
        "crl": (0.27, 0.10),
    },
}

# Table 1B: (world, tasks) -> planner -> (SR, SPL); it gives no SPL of the official tasks
FROM_IMAGES: dict[tuple[str, str], dict[str, tuple[float, float | None]]] = {
    ("pointmaze-large", "official"): {"gp": (0.91, None), "pap": (0.79, None)},
    ("pointmaze-giant", "official"): {"gp": (0.39, None), "pap": (0.53, None)},
    ("pointmaze-large", "random"): {"gp": (0.95, 0.85), "pap": (0.95, 0.83)},
    ("pointmaze-giant", "random"): {"gp": (0.78, 0.67), "pap": (0.70, 0.63)},
}

# Table 2: row -> maze -> (GP, PAP), SR on the official tasks, mean of three seeds
DATA = {
    "0.1M": {"large": (0.45, 0.26), "giant": (0.01, 0.00)},
    "0.4M": {"large": (0.74, 0.68), "giant": (0.15, 0.13)},
    "1M": {"large": (0.91, 0.68), "giant": (0.49, 0.50)},
    "4M": {"large": (0.92, 0.75), "giant": (0.76, 0.79)},
    "c=0.25": {"large": (0.09, 0.27), "giant": (0.00, 0.19)},
    "c=0.50": {"large": (0.24, 0.26), "giant": (0.03, 0.02)},
    "c=0.75": {"large": (0.56, 0.59), "giant": (0.36, 0.20)},
    "c=1": {"large": (0.92, 0.75), "giant": (0.76, 0.79)},
}

# Table 4, Large: tau -> (near, far)
PROBES = {1: (0.95, -0.01), 16: (0.91, 0.88), 256: (0.58, 0.97), 4096: (0.57, 0.70)}

# Table 3, top: share of expert episodes -> (PAP, LeWM), SR on 1,000 held-out episodes, from pixels
MIXTURES = {
    0.0: (0.908, 0.633),
    0.25: (0.933, 0.626),
    0.5: (0.926, 0.623),
    0.75: (0.905, 0.625),
    1.0: (0.876, 0.710),
}
# Table 3, bottom: LeWM's protocol, expert episodes, from pixels; the first three from LeWM
EXPERT_ONLY = {"PLDM": 0.65, "LeWM": 0.74, "DINO-WM": 0.86, "the paper, GP": 0.84}
EXPERT_ONLY |= {"the paper, PAP": 0.92}
LEWM_RELEASED = (0.62, 0.503)  # its checkpoint, by others: SR, and on pairs not solved at the start
LEWM_SECONDS = 59.0  # of one plan of LeWM on one core (300 samples, 10 iterations)

# Sec. 4.2, Apartment 1: tasks -> what was shown, and the result as printed
FIRST_PERSON = {
    "corners": (
        ("image and position, tau_max 8192", "SR 0.71 ± 0.12"),
        ("position alone", "SR 0"),
        ("random policy", "SR 0.38"),
    ),
    "far": (
        ("image and position, horizons up to 512", "SR 1.00, SPL 0.77"),
        ("position alone, horizons up to 512", "SR 1.00, SPL 0.79"),
        ("image and position, every horizon", "stranded; no number"),
    ),
}
