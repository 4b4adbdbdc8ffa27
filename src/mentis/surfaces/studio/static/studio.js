// Custom elements of the studio. Everything that comes from a home is set as text, never as markup.
import "./frame.js";
import "./talk.js";
import "./blame.js";
