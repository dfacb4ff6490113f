"""The paper by sections: neighbours, hierarchy, preliminary embedding, arrangement, layout."""
