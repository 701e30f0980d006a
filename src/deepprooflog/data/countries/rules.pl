% Where a country lies: where its subregion does, or where a neighbour does.

locatedInCR(Country, Region) :- locatedInCS(Country, Subregion), locatedInSR(Subregion, Region).
locatedInCR(Country, Region) :- neighborOf(Country, Neighbour), locatedInCR(Neighbour, Region).
