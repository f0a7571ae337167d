# test/codegen/Inputs/expression.py - the value of a manifest's expression
def value(expression, names):
    if not isinstance(expression, list):
        return names[expression] if isinstance(expression, str) else expression
    operation, x, y = expression[0], *(value(e, names) for e in expression[1:])
    return {"add": x + y, "sub": x - y, "mul": x * y, "min": min(x, y), "max": max(x, y), "ceildiv": -(-x // y) if y else 0, "floordiv": x // y if y else 0}[operation]
