"""Tables, figures and the page of dialogues, from their folders."""
