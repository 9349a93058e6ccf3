"""Elements that integrals run over, and the points of quadratures in them. Start with domains.py."""
