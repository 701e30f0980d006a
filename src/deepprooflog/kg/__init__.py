"""Knowledge graphs: ranked answers with proofs, from triples and rules.

    graph = dpl.kg.load("folder")
    model = dpl.kg.train(graph, rules="rules.pl", prior="complex", learner="exact", seed=0)
    model.query("uncle(X, max_ashgrove)", top=10)
    model.explain("father(caspar_ashgrove, max_ashgrove)")
    model.evaluate(protocol="full")
    model.save("run");  dpl.kg.open("run")

The parts are there one by one: `train_kge` and `from_pykeen` make an embedding, `calibrate` a
`Belief` of it, `prover` a `Prover`, whose policy `train_exact` or `train_ppo` trains; `rank` and
`figures` say how well a score ranks.
"""

from __future__ import annotations

from deepprooflog.kg.belief.prior import calibrate_belief as calibrate
from deepprooflog.kg.believe import Belief
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.exact_learner import train_exact
from deepprooflog.kg.exact_options import ExactOptions
from deepprooflog.kg.figures import figures
from deepprooflog.kg.folder import load_graph as load
from deepprooflog.kg.kge_options import KgeOptions
from deepprooflog.kg.kge_training import train_kge
from deepprooflog.kg.mining.miner import mine
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.model import open_graph_model as open
from deepprooflog.kg.options import GraphOptions
from deepprooflog.kg.ppo_learner import train_ppo
from deepprooflog.kg.ppo_options import PpoOptions
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prover import Prover
from deepprooflog.kg.pykeen_import import from_pykeen
from deepprooflog.kg.ranking import rank
from deepprooflog.kg.rules import Rules, parse_rules, read_rules
from deepprooflog.kg.training import train_graph as train
from deepprooflog.kg.triples import Graph

__all__ = [
    "Answer",
    "Answers",
    "Belief",
    "ExactOptions",
    "Figures",
    "Graph",
    "GraphModel",
    "GraphOptions",
    "KgeOptions",
    "PpoOptions",
    "Prover",
    "Rules",
    "calibrate",
    "figures",
    "from_pykeen",
    "load",
    "mine",
    "open",
    "parse_rules",
    "prover",
    "rank",
    "read_rules",
    "train",
    "train_exact",
    "train_kge",
    "train_ppo",
]
