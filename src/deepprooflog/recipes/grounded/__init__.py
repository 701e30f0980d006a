"""Systems over ground rules: SBR, DCR, R2N."""
