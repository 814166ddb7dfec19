"""The table of methods and their traits. Nothing else in lowdim lists methods by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, NamedTuple


class LargeScale(NamedTuple):
    """A cheaper algorithm that a method chooses by itself for many vectors.

    Attributes
    ----------
    constant : str
        Name of the constant in the module of the method: the number of vectors above which the
        cheaper algorithm is chosen.
    parameters : tuple of (name, value)
        Parameters that choose it for any number of vectors.
    """

    constant: str
    parameters: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Method:
    """One row: what a method is, keeps and costs, and how other parts of lowdim must treat it.

    Attributes
    ----------
    name : str
        Name of the class.
    module : str
        Its module in `lowdim`.
    family : {"spectral", "stress", "neighbour", "learned"}
        What is optimised: eigenvectors, distances, neighbours, or the parameters of a map.
    sentence : str
        The steps from objects to coordinates.
    keeps : str
        What of the data the map shows.
    cost : str
        Time and memory, in numbers of objects n, features d, neighbours k.
    extends : str
        How new objects are placed and how coordinates are taken back to the data.
    paper : str
        Authors and years.
    objects : {"vectors", "labelled", "subjects"}
        What `fit` takes: objects as vectors or dissimilarities, vectors with their labels, or
        several matrices of dissimilarities of the same objects, one a subject.
    when : str
        When to use it.
    power : float
        Exponent of n with which the time grows for large n.
    memory : float
        Exponent of n with which the memory grows for large n.
    reduced_by : str
        Parameter that, if it is set, makes time and memory linear in n (landmarks, prototypes);
        empty if there is none.
    large_scale : LargeScale or None
        The cheaper algorithm for many vectors, if the method has one.
    local_only : bool
        Whether only neighbours are kept: then sizes and densities of clusters and the distances
        between them say little about the data.
    scales_axes : bool
        Whether every axis has a scale of its own: then distances are not those of the data.
    suggested : bool
        Whether `lowdim.quality.suggest` tries the method by default.
    euclidean_twin : str
        Method that gives the same map for vectors with Euclidean distances; empty if there is none.
    live : tuple of str
        Parameters that a callback can change while a fit runs (`State.change`).
    grows : bool
        Whether new objects can join a fitted map (`update`).
    """

    name: str
    module: str
    family: Literal["spectral", "stress", "neighbour", "learned"]
    sentence: str
    keeps: str
    cost: str
    extends: str
    paper: str
    objects: Literal["vectors", "labelled", "subjects"] = "vectors"
    when: str = ""
    power: float = 2.0
    memory: float = 1.0
    reduced_by: str = ""
    large_scale: LargeScale | None = None
    local_only: bool = False
    scales_axes: bool = False
    suggested: bool = False
    euclidean_twin: str = ""
    live: tuple[str, ...] = ()
    grows: bool = False

    def load(self) -> Any:
        """The class of the estimator."""
        return getattr(self._module(), self.name)

    def at_scale(self, n: int) -> dict[str, Any]:
        """Parameters that make the method treat few vectors as it treats n of them."""
        if self.large_scale is None or n <= getattr(self._module(), self.large_scale.constant):
            return {}
        return dict(self.large_scale.parameters)

    def _module(self) -> Any:
        return import_module(f"lowdim.{self.module}")


CATALOG: tuple[Method, ...] = (
    Method(
        name="PCA",
        module="spectral.pca",
        family="spectral",
        sentence="centre -> singular vectors",
        keeps="variance; the best linear map",
        when="first, as the yardstick; structure is linear, or noise is to be removed first",
        power=1.0,
        cost="n d min(n, d)",
        extends="linear map, linear inverse",
        paper="Pearson 1901; Hotelling 1933; parallel analysis: Horn 1965",
        suggested=True,
        grows=True,
    ),
    Method(
        name="ClassicalMDS",
        module="spectral.classical_mds",
        family="spectral",
        sentence="double-centre(D^2) -> top eigenvectors",
        keeps="distances, the large ones first",
        when="you have distances, not vectors, and they are close to Euclidean",
        cost="n^2 per iteration, n^2 memory; n m with m landmarks; n d^2 for Euclidean vectors",
        extends="Gower's formula; linear inverse for Euclidean vectors, else barycentric",
        paper="Torgerson 1952; Gower 1966; landmarks: de Silva and Tenenbaum 2004",
        suggested=True,
        reduced_by="n_landmarks",
        euclidean_twin="PCA",
    ),
    Method(
        name="MDS",
        module="stress.mds.mds",
        family="stress",
        sentence="D -> disparities (identity, linear, monotone) -> majorize",
        keeps="distances, all alike, or only their order; weighted, or with pairs missing",
        when="all distances matter alike, or only their order can be trusted, or some are missing",
        memory=2.0,
        cost="n^2 per iteration, n^2 memory; n per iteration with sampled pairs",
        extends="majorization against the map; barycentric inverse",
        paper="Kruskal 1964; de Leeuw and Heiser 1980; Borg and Groenen 2005",
        large_scale=LargeScale("LARGE", (("method", "sampled"),)),
    ),
    Method(
        name="KernelPCA",
        module="spectral.kernel_pca.kernel_pca",
        family="spectral",
        sentence="centre(K) -> top eigenvectors",
        keeps="variance in feature space",
        when="a kernel knows what makes your objects alike",
        memory=2.0,
        cost="n^2 per iteration, n^2 memory",
        extends="kernel projection; pre-images by fixed point or ridge regression",
        paper="Schoelkopf, Smola and Mueller 1998; Mika et al. 1999; Bakir et al. 2004",
    ),
    Method(
        name="Isomap",
        module="spectral.isomap",
        family="spectral",
        sentence="k-NN -> geodesics -> classical (or stress) MDS",
        keeps="geodesic distances along the data's manifold",
        when="the data lies on one curved sheet without holes, evenly sampled",
        memory=2.0,
        cost="n^2 log n time, n^2 memory; n m log n and n m with m landmarks",
        extends="geodesics through a new point's neighbours, Gower's formula; barycentric inverse",
        paper="Tenenbaum, de Silva and Langford 2000",
        suggested=True,
        reduced_by="n_landmarks",
        grows=True,
    ),
    Method(
        name="LocallyLinearEmbedding",
        module="spectral.locally_linear",
        family="spectral",
        sentence="k-NN -> reconstruction / alignment matrix -> bottom eigenvectors",
        keeps="how each point is made of its neighbours",
        when="as Isomap, for more points; method=modified or ltsa where the map collapses",
        cost="n k^3 and a sparse eigenproblem",
        extends="barycentric weights both ways",
        paper="Roweis and Saul 2000; modified: Zhang and Wang 2007; Hessian: Donoho and Grimes "
        "2003; LTSA: Zhang and Zha 2004",
        scales_axes=True,
    ),
    Method(
        name="LaplacianEigenmaps",
        module="spectral.laplacian_eigenmaps",
        family="spectral",
        sentence="graph -> heat weights -> bottom eigenvectors of (L, D) or (L, I)",
        keeps="neighbours near each other; cluster structure",
        when="you look for clusters or for what varies most slowly, not for shape",
        cost="n k and a sparse eigenproblem",
        extends="Nystroem's formula; barycentric inverse",
        paper="Belkin and Niyogi 2003; Bengio et al. 2004",
        scales_axes=True,
        suggested=True,
        grows=True,
    ),
    Method(
        name="SpectralClustering",
        module="spectral.spectral_clustering",
        family="spectral",
        sentence="Laplacian eigenmaps -> k-means",
        keeps="clusters that the graph separates",
        when="you want the clusters themselves, of any shape",
        cost="as Laplacian eigenmaps",
        extends="Nystroem's formula, nearest centre; barycentric inverse",
        paper="Shi and Malik 2000; Ng, Jordan and Weiss 2002; von Luxburg 2007",
        scales_axes=True,
    ),
    Method(
        name="DiffusionMap",
        module="spectral.diffusion_map",
        family="spectral",
        sentence="graph -> heat weights, density removed -> top eigenvectors of the random walk",
        keeps="diffusion distances: how easily a random walk joins two points",
        when="data along branches or trajectories, unevenly sampled or noisy",
        cost="n k and a sparse eigenproblem",
        extends="Nystroem's formula; barycentric inverse",
        paper="Coifman and Lafon 2006",
        scales_axes=True,
    ),
    Method(
        name="Sammon",
        module="stress.sammon",
        family="stress",
        sentence="stress with w = 1/delta -> quasi-Newton or majorization",
        keeps="distances, each to its own scale: the small ones as carefully as the large",
        when="some hundreds or thousands of objects whose small distances matter too",
        memory=2.0,
        power=3.0,
        cost="n^2 per iteration, n^3 once, n^2 memory",
        extends="least own stress on the frozen map; barycentric inverse",
        paper="Sammon 1969; majorization: de Leeuw and Heiser 1980",
    ),
    Method(
        name="INDSCAL",
        module="stress.indscal.indscal",
        family="stress",
        sentence="several D: double-centre(D_k^2) -> shared space + a diagonal weight per subject",
        keeps="what several judges agree on, with axes that cannot be turned",
        when="several people or occasions judged the same objects",
        memory=2.0,
        cost="m n^2 per iteration and m n^2 memory for m subjects",
        extends="weights of new subjects; weights back to dissimilarities",
        paper="Carroll and Chang 1970",
        objects="subjects",
    ),
    Method(
        name="CurvilinearComponentAnalysis",
        module="stress.curvilinear.curvilinear_component",
        family="stress",
        sentence="D -> stress weighted by the distances on the map -> one object pins, others move",
        keeps="short distances; unfolds or tears what cannot lie flat",
        when="the data must be torn to lie flat: spheres, boxes, knots",
        cost="n^2 per epoch; memory n beyond 1 GB of distances; m^2 per epoch with m prototypes",
        extends="the same rule against the fixed map; barycentric inverse",
        paper="Demartines and Herault 1997",
        reduced_by="n_prototypes",
    ),
    Method(
        name="CurvilinearDistanceAnalysis",
        module="stress.curvilinear.curvilinear_distance",
        family="stress",
        sentence="k-NN -> geodesics -> curvilinear component analysis",
        keeps="short distances along the data's manifold",
        when="as curvilinear component analysis, on data that is strongly folded",
        memory=2.0,
        cost="n^2 log n and n^2 per epoch, n^2 memory; n m log n and n m with m prototypes",
        extends="geodesics through a new point's neighbours, then the same rule; barycentric "
        "inverse",
        paper="Lee, Lendasse and Verleysen 2004",
        reduced_by="n_prototypes",
    ),
    Method(
        name="UMAP",
        module="neighbor_embedding.umap.umap",
        family="neighbour",
        sentence="k-NN -> fuzzy graph -> cross-entropy layout",
        keeps="neighbours; clusters apart",
        when="many points whose clusters and their detail are to be seen, quickly",
        cost="n k per epoch and n k memory, neighbours aside",
        extends="the same objective against the fixed map; barycentric inverse",
        paper="McInnes, Healy and Melville 2018; densMAP: Narayan, Berger and Cho 2021",
        local_only=True,
        suggested=True,
        live=("min_dist", "spread", "learning_rate", "repulsion_strength", "negative_sample_rate"),
        grows=True,
    ),
    Method(
        name="MaximumVarianceUnfolding",
        module="spectral.maximum_variance.maximum_variance",
        family="spectral",
        sentence="k-NN -> SDP(max trace, local isometry) -> top eigenvectors",
        keeps="distances to neighbours, everything else pulled apart",
        when="lengths along the sheet must be exact and the points are few",
        power=3.0,
        cost="m^3 and m^2 memory for m edges; near n for the factorised version",
        extends="distances to neighbours kept against the frozen map; barycentric inverse",
        paper="Weinberger and Saul 2004, 2006; factorised: Weinberger, Sha, Zhu and Saul 2006; "
        "landmarks: Weinberger, Packer and Saul 2005",
        reduced_by="n_landmarks",
    ),
    Method(
        name="SNE",
        module="neighbor_embedding.sne",
        family="neighbour",
        sentence="perplexity affinities, row by row -> descend(attract P, repel Gaussian kernel)",
        keeps="each object's neighbours; crowds them",
        when="to study what t-SNE changed; each object's own row of probabilities is to be kept",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Hinton and Roweis 2002",
        local_only=True,
        live=("perplexity", "early_exaggeration", "exaggeration", "learning_rate"),
        grows=True,
    ),
    Method(
        name="SymmetricSNE",
        module="neighbor_embedding.symmetric_sne",
        family="neighbour",
        sentence="perplexity affinities -> descend(attract P, repel Gaussian kernel)",
        keeps="pairs of neighbours; crowds them",
        when="to study what t-SNE changed; a milder map in which clusters are not forced apart",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Cook, Sutskever, Mnih and Hinton 2007",
        local_only=True,
        live=("perplexity", "early_exaggeration", "exaggeration", "learning_rate"),
        grows=True,
    ),
    Method(
        name="TSNE",
        module="neighbor_embedding.tsne",
        family="neighbour",
        sentence="perplexity affinities -> descend(attract P, repel Student kernel)",
        keeps="who is near whom; says little of distances, densities and gaps",
        when="you look for clusters and close neighbours in the data, of any size",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="van der Maaten and Hinton 2008; Barnes-Hut: van der Maaten 2014; FFT: Linderman et "
        "al. 2019",
        local_only=True,
        suggested=True,
        live=("perplexity", "early_exaggeration", "exaggeration", "learning_rate"),
        grows=True,
    ),
    Method(
        name="WeightedTSNE",
        module="neighbor_embedding.weighted_tsne",
        family="neighbour",
        sentence="perplexity affinities -> descend(attract P, repel Student kernel between masses)",
        keeps="who is near whom, important points with more room",
        when="as t-SNE, where some objects matter more or hubs crowd the middle",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Yang, Peltonen and Kaski 2014",
        local_only=True,
        live=("early_exaggeration", "exaggeration", "learning_rate"),
    ),
    Method(
        name="MultiscaleSNE",
        module="neighbor_embedding.multiscale_sne",
        family="neighbour",
        sentence="perplexities 2, 4, 8, ... averaged -> quasi-Newton on KL(p || q), coarse to fine",
        keeps="neighbourhoods of every size",
        when="one map must serve near and far, and nothing is to be tuned",
        cost="n log(n)^2 per iteration (n^2 log n with method='exact')",
        extends="least own divergence on the frozen map; barycentric inverse",
        paper="Lee, Peluffo-Ordonez and Verleysen 2015",
        local_only=True,
    ),
    Method(
        name="NeRV",
        module="neighbor_embedding.nerv",
        family="neighbour",
        sentence="perplexity affinities -> quasi-Newton on lambda KL(p || q) + (1 - lambda) "
        "KL(q || p)",
        keeps="neighbours: few false ones, or few missed ones, as chosen",
        when="neighbours are looked up on the map, and you know which error is worse",
        cost="n log n per iteration (n^2 with method='exact')",
        extends="least own divergence on the frozen map; barycentric inverse",
        paper="Venna, Peltonen, Nybo, Aidos and Kaski 2010",
        local_only=True,
    ),
    Method(
        name="SelfOrganizingMap",
        module="learned.self_organizing_map.self_organizing_map",
        family="learned",
        sentence="grid + prototypes -> best units -> means over neighbourhoods that shrink",
        keeps="which objects are alike, as places on a grid of prototypes",
        when="you want an ordered summary of the data by prototypes, and to look at one feature "
        "after the other",
        power=1.5,
        cost="n m d per pass for m units; dissimilarities also take an n x n matrix",
        extends="the unit with the nearest prototype; the prototype of the nearest unit",
        paper="Kohonen 1982, 2001; relational: Hammer and Hasenfuss 2010; median: Kohonen and "
        "Somervuo 2002",
        local_only=True,
    ),
    Method(
        name="NeighborhoodComponentsAnalysis",
        module="learned.metric_learning.neighborhood_components",
        family="learned",
        sentence="labels + softmax of distances -> quasi-Newton on the leave-one-out errors",
        keeps="which features tell the labels apart, as a linear map",
        when="objects have labels and a picture of them or a classifier by neighbours is wanted",
        cost="n^2 k per iteration for k components",
        extends="linear both ways",
        paper="Goldberger, Hinton, Roweis and Salakhutdinov 2005",
        objects="labelled",
        scales_axes=True,
    ),
    Method(
        name="LargeMarginNearestNeighbor",
        module="learned.metric_learning.large_margin",
        family="learned",
        sentence="labels -> target neighbours and impostors -> accelerated gradient over metrics",
        keeps="neighbours of the same label, with a margin around them, as a linear map",
        when="a nearest-neighbour classifier needs a metric, found by a convex problem",
        cost="n^2 d per search of impostors; n d^2 + d^3 per iteration",
        extends="linear both ways",
        paper="Weinberger and Saul 2009",
        objects="labelled",
        scales_axes=True,
    ),
    Method(
        name="InformationTheoreticMetricLearning",
        module="learned.metric_learning.information_theoretic",
        family="learned",
        sentence="pairs + bounds -> Bregman projections of a Mahalanobis matrix",
        keeps="similar pairs near, dissimilar pairs far, else the prior metric, as a linear map",
        when="you know of pairs of objects that are similar or dissimilar rather than labels",
        power=1.0,
        cost="m d^2 per pass over m pairs",
        extends="linear both ways",
        paper="Davis, Kulis, Jain, Sra and Dhillon 2007",
        objects="labelled",
        scales_axes=True,
    ),
    Method(
        name="Autoencoder",
        module="learned.autoencoder",
        family="learned",
        sentence="encoder + decoder -> gradient descent on the error of reconstruction",
        keeps="what is needed to reconstruct the data, by a nonlinear map",
        when="the map must also decode: images or signals are to be made from coordinates",
        power=1.0,
        cost="n w per epoch for w weights",
        extends="the two halves of the network",
        paper="Hinton and Salakhutdinov 2006; denoising: Vincent et al. 2008; contractive: "
        "Rifai et al. 2011; variational: Kingma and Welling 2014",
        scales_axes=True,
    ),
    Method(
        name="ParametricTSNE",
        module="learned.parametric.parametric_tsne",
        family="learned",
        sentence="perplexity affinities -> network -> gradient descent on KL(P || Q), by pairs",
        keeps="who is near whom, by a map that takes new data at once",
        when="as t-SNE, where much new data must be placed quickly on the same map",
        power=1.0,
        cost="n w per epoch for w weights, neighbours aside",
        extends="the network; a decoder if asked for, else the general decoder",
        paper="van der Maaten 2009",
        local_only=True,
    ),
    Method(
        name="ParametricUMAP",
        module="learned.parametric.parametric_umap",
        family="learned",
        sentence="k-NN -> fuzzy graph -> network -> gradient descent on the cross-entropy",
        keeps="neighbours; clusters apart, by a map that takes new data at once",
        when="as UMAP, where much new data must be placed quickly on the same map",
        power=1.0,
        cost="n w per epoch for w weights, neighbours aside",
        extends="the network; a decoder if asked for, else the general decoder",
        paper="Sainburg, McInnes and Gentner 2021",
        local_only=True,
    ),
)


def find(name: str) -> Method | None:
    """The row of a method, by the name of its class; None if there is none."""
    return next((method for method in CATALOG if method.name == name), None)
