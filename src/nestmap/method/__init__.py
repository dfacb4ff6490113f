"""The paper, section by section: neighbours, hierarchy, preliminary embedding, arrangement, layout."""
