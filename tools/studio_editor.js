// The parts of CodeMirror that the studio uses; tools/vendor_studio.py makes one file of them.
export {minimalSetup} from "codemirror";
export {Compartment, EditorState} from "@codemirror/state";
export {Decoration, EditorView, MatchDecorator, ViewPlugin, keymap} from "@codemirror/view";
export {autocompletion, closeBrackets, completionStatus} from "@codemirror/autocomplete";
export {MergeView} from "@codemirror/merge";
