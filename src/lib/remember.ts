/** A function of one immutable object that computes each answer once, for as long as the object lives. */
export function remember<In extends object, Out>(compute: (value: In) => Out): (value: In) => Out {
  const answers = new WeakMap<In, { readonly answer: Out }>();
  return (value) => {
    let known = answers.get(value);
    if (known === undefined) {
      known = { answer: compute(value) };
      answers.set(value, known);
    }
    return known.answer;
  };
}
