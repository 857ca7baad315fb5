import type { Variable } from "eslint-scope";
import type { Node } from "estree";
import { findImported } from "@patchbay/loading/source-files";
import { resolvedImport } from "@patchbay/loading/resolved";
import { isOwners } from "@patchbay/loading/owners";
import { type Binding, isCode, type Module, nameOf } from "./modules.ts";

/** What an imported name means. `unknown`: owner code that was not parsed. */
export type Origin =
  | ({ kind: "variable" } & Binding)
  | { kind: "node"; module: Module; node: Node }
  | { kind: "module"; module: Module }
  | { kind: "data"; path: string }
  | { kind: "package"; name: string }
  | { kind: "unknown" };

/** A place that names a variable: an identifier, or a namespace member such as `limits.MOST`. */
export interface Use {
  module: Module;
  node: Node;
}

/** Follows imports and exports between the owner's modules, also through files that export a name again. */
export class Links {
  readonly #modules: ReadonlyMap<string, Module>;
  #importers: Map<Variable | Module, Binding[]> | undefined;

  constructor(modules: ReadonlyMap<string, Module>) {
    this.#modules = modules;
  }

  /** What `name` means in an import or export from `source`; `*` is the whole module. */
  imported(module: Module, source: string, name: string, seen = new Set<string>()): Origin[] {
    const path = resolvedImport(source, module.path) ?? findImported(source, module.path);
    if (path === undefined && source.startsWith("#")) return [{ kind: "unknown" }];
    if (path === undefined || !isOwners(path)) return [{ kind: "package", name }];
    const target = this.#modules.get(path);
    if (target === undefined) return [isCode(path) ? { kind: "unknown" } : { kind: "data", path }];
    return name === "*" ? [{ kind: "module", module: target }] : this.exported(target, name, seen);
  }

  /** What a module exports under a name. */
  exported(module: Module, name: string, seen = new Set<string>()): Origin[] {
    const key = `${module.path} ${name}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return module.ast.body.flatMap((statement): Origin[] => {
      if (statement.type === "ExportDefaultDeclaration" && name === "default") {
        const node = statement.declaration as Node;
        const [declared] = module.scopes.getDeclaredVariables(node);
        if (node.type === "Identifier") return this.#named(module, node.name, seen);
        return [declared ? { kind: "variable", module, variable: declared } : { kind: "node", module, node }];
      }
      if (statement.type === "ExportAllDeclaration") {
        const from = statement.source.value as string;
        if (statement.exported)
          return nameOf(statement.exported) === name ? this.imported(module, from, "*", seen) : [];
        return name === "default" ? [] : this.imported(module, from, name, seen);
      }
      if (statement.type !== "ExportNamedDeclaration") return [];
      const { declaration, source } = statement;
      const declared = declaration ? module.scopes.getDeclaredVariables(declaration) : [];
      const own = declared.filter((candidate) => candidate.name === name);
      const listed = statement.specifiers.filter(({ exported }) => nameOf(exported) === name);
      return [
        ...own.map((variable): Origin => ({ kind: "variable", module, variable })),
        ...listed.flatMap(({ local }) =>
          source
            ? this.imported(module, source.value as string, nameOf(local), seen)
            : this.#named(module, nameOf(local), seen),
        ),
      ];
    });
  }

  /** What a variable means where it imports something, else the variable itself. */
  origins(module: Module, variable: Variable, seen = new Set<string>()): Origin[] {
    const imports = variable.defs.flatMap((definition) => (definition.type === "ImportBinding" ? [definition] : []));
    if (imports.length === 0) return [{ kind: "variable", module, variable }];
    return imports.flatMap(({ node, parent }): Origin[] => {
      const found = this.imported(module, parent.source.value as string, importedName(node), seen);
      const own = found.filter(({ kind }) => kind !== "package");
      // A file that re-exports a whole package may also declare the name itself. A CommonJS file declares no names.
      return own.length > 0 ? own : found.length > 0 ? found.slice(0, 1) : [{ kind: "unknown" }];
    });
  }

  /** Every place in the owner's code that names a variable, also through an import or an alias. */
  *uses(module: Module, variable: Variable, seen = new Set<Variable>()): Iterable<Use> {
    if (seen.has(variable)) return;
    seen.add(variable);
    this.#importers ??= this.#findImporters();
    for (const holder of [{ module, variable }, ...(this.#importers.get(variable) ?? [])])
      for (const { identifier } of holder.variable.references) {
        const node = identifier as Node;
        yield { module: holder.module, node };
        const outer = holder.module.parents.get(node);
        if (outer?.type !== "VariableDeclarator" || outer.init !== node) continue;
        for (const alias of holder.module.scopes.getDeclaredVariables(outer))
          if (outer.id.type === "Identifier") yield* this.uses(holder.module, alias, seen);
      }
    for (const { module: caller, variable: namespace } of this.#importers.get(module) ?? [])
      for (const { identifier } of namespace.references) {
        const node = identifier as Node;
        const member = caller.parents.get(node);
        if (member?.type !== "MemberExpression" || member.object !== node || member.computed)
          yield { module: caller, node };
        else if (this.exported(module, nameOf(member.property)).some((candidate) => isVariable(candidate, variable)))
          yield { module: caller, node: member };
      }
  }

  #named(module: Module, name: string, seen: Set<string>): Origin[] {
    const variable = module.top.set.get(name);
    return variable ? this.origins(module, variable, seen) : [{ kind: "unknown" }];
  }

  /** Every module's import bindings by the imported variable or module. */
  #findImporters(): Map<Variable | Module, Binding[]> {
    const found = new Map<Variable | Module, Binding[]>();
    for (const module of this.#modules.values())
      for (const variable of module.top.variables.filter(({ defs }) =>
        defs.some(({ type }) => type === "ImportBinding"),
      ))
        for (const origin of this.origins(module, variable)) {
          const key =
            origin.kind === "variable" ? origin.variable : origin.kind === "module" ? origin.module : undefined;
          if (key) found.set(key, [...(found.get(key) ?? []), { module, variable }]);
        }
    return found;
  }
}

const isVariable = (origin: Origin, variable: Variable): boolean =>
  origin.kind === "variable" && origin.variable === variable;

function importedName(specifier: Node): string {
  if (specifier.type === "ImportSpecifier") return nameOf(specifier.imported);
  return specifier.type === "ImportDefaultSpecifier" ? "default" : "*";
}
