"""HNNE, FINCH and Communities: adapters in the manner of scikit-learn."""
