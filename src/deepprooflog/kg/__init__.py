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

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.prior import calibrate_belief as calibrate
from deepprooflog.kg.checking.check import GraphCheck
from deepprooflog.kg.checking.check import check_graph as check
from deepprooflog.kg.data.entity_facts import EntityFact
from deepprooflog.kg.data.load import load_graph as load
from deepprooflog.kg.data.rule_files.rule_writing import rules_text, write_rules
from deepprooflog.kg.data.rules import Rules, parse_rules, read_rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.figures import figures
from deepprooflog.kg.evaluation.ranking import Ranking, rank
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.pykeen import from_pykeen
from deepprooflog.kg.kge.training import TrainedKge, train_kge
from deepprooflog.kg.learn.exact_learner import train_exact
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.ppo_learner import train_ppo
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.learn.trust import Trust
from deepprooflog.kg.mining.miner import mine
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.opening import open_graph_model as open
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.compare import Comparison
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.support import FactSupport
from deepprooflog.kg.readings.rule_table import RuleTable
from deepprooflog.kg.summary import RunSummary
from deepprooflog.kg.told import Told
from deepprooflog.kg.told import tell_run as tell
from deepprooflog.kg.training import train_graph as train
from deepprooflog.learn.run.loop import Learned

__all__ = [
    "Answer",
    "Answers",
    "Belief",
    "Comparison",
    "EntityFact",
    "ExactOptions",
    "FactSupport",
    "Figures",
    "Graph",
    "GraphCheck",
    "GraphModel",
    "GraphOptions",
    "Kge",
    "KgeOptions",
    "Learned",
    "PpoOptions",
    "Prover",
    "Ranking",
    "RuleTable",
    "Rules",
    "RunSummary",
    "Told",
    "TrainedKge",
    "Trust",
    "calibrate",
    "check",
    "figures",
    "from_pykeen",
    "load",
    "mine",
    "open",
    "parse_rules",
    "prover",
    "rank",
    "read_rules",
    "rules_text",
    "tell",
    "train",
    "train_exact",
    "train_kge",
    "train_ppo",
    "write_rules",
]
